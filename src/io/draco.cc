// The only file that calls libdraco. No C++ exception leaves this file.
#include "io/draco.h"

#include <draco/compression/mesh/mesh_edgebreaker_decoder.h>
#include <draco/compression/mesh/mesh_sequential_decoder.h>
#include <draco/core/varint_decoding.h>

#include <cstring>
#include <new>
#include <type_traits>

struct px_draco {
    draco::Mesh mesh;
};

namespace {

// Approximate bytes that libdraco allocates per triangle and per vertex, and again for every attribute with seams.
constexpr uint64_t kTriangleCost = 64, kVertexCost = 32, kSeamTriangleCost = 16, kSeamVertexCost = 16;

struct Limits {
    px_draco_take *take;
    void *user;
    bool refused;
    bool Take(uint64_t bytes) {
        refused = !take(user, bytes);
        return !refused;
    }
};

// Counts at the beginning of the connectivity data. The two encodings store them in different orders.
struct Counts {
    uint32_t triangles = 0, vertices = 0;
    uint8_t seams = 0;
};

bool ReadCounts(const draco::MeshSequentialDecoder *, draco::DecoderBuffer buffer, Counts *counts) {
    return draco::DecodeVarint(&counts->triangles, &buffer) && draco::DecodeVarint(&counts->vertices, &buffer);
}

bool ReadCounts(const draco::MeshEdgebreakerDecoder *, draco::DecoderBuffer buffer, Counts *counts) {
    return draco::DecodeVarint(&counts->vertices, &buffer) && draco::DecodeVarint(&counts->triangles, &buffer) &&
           buffer.Decode(&counts->seams);
}

// A decoder that calls `take` before it allocates.
template <class Decoder> class Guarded : public Decoder {
  public:
    explicit Guarded(Limits *limits) : limits_(limits) {}

  protected:
    bool DecodeConnectivity() override {
        Counts c;
        if (!ReadCounts(this, *this->buffer(), &c))
            return false;
        return limits_->Take(c.triangles * (kTriangleCost + kSeamTriangleCost * c.seams) +
                             c.vertices * (kVertexCost + kSeamVertexCost * c.seams)) &&
               Decoder::DecodeConnectivity();
    }

    bool DecodeAllAttributes() override {
        const draco::PointCloud *cloud = this->point_cloud();
        for (int32_t a = 0; a < cloud->num_attributes(); a++) {
            const draco::PointAttribute *attribute = cloud->attribute(a);
            // The values, the integers they are decoded from, and the map from vertices to values.
            uint64_t size = static_cast<uint64_t>(attribute->byte_stride()) + 4 * attribute->num_components() + 4;
            if (!limits_->Take(size * cloud->num_points()))
                return false;
        }
        return Decoder::DecodeAllAttributes();
    }

  private:
    Limits *limits_;
};

template <class Decoder>
px_draco_result Decode(draco::DecoderBuffer *buffer, px_draco_take *take, void *user, draco::Mesh *mesh) {
    Limits limits = {take, user, false};
    Guarded<Decoder> decoder(&limits);
    draco::DecoderOptions options;
    if (decoder.Decode(options, buffer, mesh).ok())
        return PX_DRACO_OK;
    return limits.refused ? PX_DRACO_REFUSED : PX_DRACO_DAMAGED;
}

px_draco_result DecodeStream(const uint8_t *data, size_t size, px_draco_take *take, void *user, draco::Mesh *mesh) {
    draco::DecoderBuffer buffer;
    buffer.Init(reinterpret_cast<const char *>(data), size);
    draco::DecoderBuffer front = buffer;
    draco::DracoHeader header;
    if (!draco::PointCloudDecoder::DecodeHeader(&front, &header).ok())
        return PX_DRACO_NO_STREAM;
    if (header.encoder_type != draco::TRIANGULAR_MESH)
        return PX_DRACO_NO_TRIANGLES;
    if (header.version_major != draco::kDracoMeshBitstreamVersionMajor ||
        header.version_minor != draco::kDracoMeshBitstreamVersionMinor)
        return PX_DRACO_VERSION;
    switch (header.encoder_method) {
    case draco::MESH_SEQUENTIAL_ENCODING:
        return Decode<draco::MeshSequentialDecoder>(&buffer, take, user, mesh);
    case draco::MESH_EDGEBREAKER_ENCODING:
        return Decode<draco::MeshEdgebreakerDecoder>(&buffer, take, user, mesh);
    default:
        return PX_DRACO_DAMAGED;
    }
}

template <typename T>
px_draco_result Values(const px_draco *draco, const draco::PointAttribute *attribute, size_t stride, uint8_t *out) {
    bool floats = attribute->data_type() == draco::DT_FLOAT32 || attribute->data_type() == draco::DT_FLOAT64;
    if (floats && !std::is_floating_point<T>::value)
        return PX_DRACO_TYPE;
    T values[4];
    int8_t width = static_cast<int8_t>(attribute->num_components());
    for (uint32_t v = 0; v < draco->mesh.num_points(); v++, out += stride) {
        draco::AttributeValueIndex index = attribute->mapped_index(draco::PointIndex(v));
        if (index.value() >= attribute->size())
            return PX_DRACO_DAMAGED;
        if (!attribute->ConvertValue<T>(index, width, values))
            return PX_DRACO_TYPE;
        memcpy(out, values, static_cast<size_t>(width) * sizeof *values);
    }
    return PX_DRACO_OK;
}

} // namespace

px_draco_result px_draco_decode(const uint8_t *data, size_t size, px_draco_take *take, void *user, px_draco **draco) {
    px_draco *decoded = nullptr;
    px_draco_result result;
    *draco = nullptr;
    try {
        decoded = new px_draco;
        result = DecodeStream(data, size, take, user, &decoded->mesh);
    } catch (const std::bad_alloc &) {
        result = PX_DRACO_MEMORY;
    } catch (...) { // std::length_error, from an invalid count
        result = PX_DRACO_DAMAGED;
    }
    if (result == PX_DRACO_OK)
        *draco = decoded;
    else
        delete decoded;
    return result;
}

void px_draco_free(px_draco *draco) {
    delete draco;
}

uint32_t px_draco_vertex_count(const px_draco *draco) {
    return draco->mesh.num_points();
}

uint32_t px_draco_triangle_count(const px_draco *draco) {
    return draco->mesh.num_faces();
}

px_draco_result px_draco_triangles(const px_draco *draco, uint32_t *out) {
    for (uint32_t t = 0; t < draco->mesh.num_faces(); t++)
        for (const draco::PointIndex &corner : draco->mesh.face(draco::FaceIndex(t))) {
            if (corner.value() >= draco->mesh.num_points())
                return PX_DRACO_DAMAGED;
            *out++ = corner.value();
        }
    return PX_DRACO_OK;
}

px_draco_result px_draco_values(const px_draco *draco, uint32_t id, uint32_t width, uint32_t component, size_t stride,
                                uint8_t *out) {
    const draco::PointAttribute *attribute = draco->mesh.GetAttributeByUniqueId(id);
    if (!attribute)
        return PX_DRACO_NO_ATTRIBUTE;
    if (attribute->num_components() != width || width > 4)
        return PX_DRACO_WIDTH;
    switch (component) {
    case 5120:
        return Values<int8_t>(draco, attribute, stride, out);
    case 5121:
        return Values<uint8_t>(draco, attribute, stride, out);
    case 5122:
        return Values<int16_t>(draco, attribute, stride, out);
    case 5123:
        return Values<uint16_t>(draco, attribute, stride, out);
    case 5125:
        return Values<uint32_t>(draco, attribute, stride, out);
    case 5126:
        return Values<float>(draco, attribute, stride, out);
    default:
        return PX_DRACO_TYPE;
    }
}
