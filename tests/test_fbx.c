/* FBX: one scene as text, as binary records of 32 and 64 bits, with plain and compressed arrays; what is read of it, computed by hand;
 * rejected files; decompression. */
#include "support.h"

#include "core/core.h"
#include "io/gltf_document.h"
#include "io/inflate.h"
#include "io/io.h"
#include "io/materials.h"

/* ---- Helpers ------------------------------------------------------------------------------------------------ */

static const char *const files[] = {"strip_text.fbx", "strip_7400.fbx", "strip_7500.fbx"};

static pelt_model *read_file(test_context *test, const char *name, const pelt_load_desc *desc) {
    char path[256];
    snprintf(path, sizeof path, "../fuzz/corpus/fbx/%s", name);
    const char *paths[] = {path};
    pelt_model *model;
    test_ok(test, pelt_load(test->context, paths, 1, desc, &model));
    return model;
}

static void check_vertex(test_context *test, const pelt_model *model, float time, uint32_t vertex, float x, float y,
                         float z) {
    float positions[64][3], wanted[3] = {x, y, z};
    uint32_t number = pelt_class_vertex(&model->mesh.points, vertex);
    assert_in_range(model->mesh.vertex_count, 1, 64);
    test_ok(test,
            pelt_model_pose(test->context, model, &model->motions[0], time, PELT_SKINNING_LINEAR, positions[0], NULL));
    for (int c = 0; c < 3; c++)
        if (fabsf(positions[number][c] - wanted[c]) > 2e-6f)
            fail_msg("point %u at %g s is at %g %g %g, should be at %g %g %g", vertex, (double)time,
                     (double)positions[number][0], (double)positions[number][1], (double)positions[number][2],
                     (double)x, (double)y, (double)z);
}

/* ---- Content ------------------------------------------------------------------------------------------------ */

/* The strip has rows of points at heights 0, 1 and 2, moved by 10 along x. The upper bone, from height 1 on, turns by 90 degrees about z in a
 * second; the shape "half" lifts the last row by 1 at 50 %, "whole" by 3 at 100 %. */
static void all_forms_hold_the_same_scene(void **state) {
    (void)state;
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = read_file(&test, files[f], NULL);
        assert_string_equal(model->format, "FBX");
        assert_int_equal(model->mesh.points.count, 6);
        assert_int_equal(model->mesh.vertex_count,
                         8); /* the row in the middle has other texture coordinates below and above */
        assert_int_equal(model->mesh.triangle_count, 4);
        assert_int_equal(model->mesh.polygon_count, 2);
        assert_int_equal(model->mesh.part_count, 2);
        assert_string_equal(model->mesh.parts[0].material, "red");
        assert_string_equal(model->mesh.parts[1].material, "blue");
        assert_int_equal(model->mesh.parts[1].first_triangle, 2);
        assert_int_equal(model->skeleton.joint_count, 3);
        assert_string_equal(model->skeleton.names[2], "upper");
        assert_int_equal(model->skeleton.parents[2], 1);
        assert_int_equal(model->skin.bone_count, 2);
        assert_int_equal(model->skin.influence_count, 2);
        assert_int_equal(model->morphs.morph_count, 2);
        assert_string_equal(model->morphs.morphs[1].name, "whole");
        assert_int_equal(model->motion_count, 1);
        assert_string_equal(model->motions[0].name, "wave");
        assert_float_equal(model->motions[0].end, 1, 0);
        check_vertex(&test, model, 0, 0, 10, 0, 0);
        check_vertex(&test, model, 0, 5, 11, 2, 0);
        check_vertex(&test, model, 0.5f, 4, 10 - sqrtf(0.5f), 1 + sqrtf(0.5f), 1);
        check_vertex(&test, model, 0.75f, 4, 10 - sinf(67.5f * (float)M_PI / 180), 1 + cosf(67.5f * (float)M_PI / 180),
                     2);
        check_vertex(&test, model, 1, 4, 9, 1, 3);
        check_vertex(&test, model, 1, 1, 11, 0, 0);
        check_vertex(&test, model, 1, 3, 11 * 0.25f + 10 * 0.75f, 1 * 0.25f + 2 * 0.75f, 0);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* UnitScaleFactor 100 is metres. Axes and units that the caller gives replace those of the file. */
static void units_can_be_given(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.scale = "0.5";
    desc.up = "z";
    pelt_model *model = read_file(&test, files[1], &desc);
    check_vertex(&test, model, 0, 5, 5.5f, 0, -1);
    pelt_model_destroy(model);
    test_end(&test);
}

static void same_pose(test_context *test, const pelt_model *model, const pelt_model *again, float time, float most) {
    float a[64][3], b[64][3];
    test_ok(test, pelt_model_pose(test->context, model, &model->motions[0], time, PELT_SKINNING_LINEAR, a[0], NULL));
    test_ok(test, pelt_model_pose(test->context, again, &again->motions[0], time, PELT_SKINNING_LINEAR, b[0], NULL));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        for (int c = 0; c < 3; c++)
            if (fabsf(a[i][c] - b[i][c]) > most)
                fail_msg("vertex %u at %g s: %g, should be %g", i, (double)time, (double)b[i][c], (double)a[i][c]);
}

/* Whether a binary file has a property P of this name whose last value is this integer (32 bits) or number. */
static bool has_setting(const px_buffer *bytes, const char *name, double value, bool real) {
    size_t length = strlen(name), size = real ? 8 : 4;
    int32_t integer = (int32_t)value;
    px_little_endian(&integer, 1, sizeof integer);
    px_little_endian(&value, 1, sizeof value);
    for (size_t at = 0; at + length + 40 < bytes->size; at++) {
        const uint8_t *p = (const uint8_t *)bytes->data + at;
        if (p[0] != 'S' || p[1] != length || memcmp(p + 5, name, length) != 0)
            continue;
        for (int text = 0; text < 4; text++) /* name, type, label, flags */
            p += 5 + p[1];
        return *p == (real ? 'D' : 'I') && memcmp(p + 1, real ? (void *)&value : (void *)&integer, size) == 0;
    }
    return false;
}

/* What is written comes back: parts, bones, shapes, and every vertex at any time. */
static void written_files_come_back(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_file(&test, files[0], NULL), *again;
    px_buffer bytes = {.context = test.context};
    test_ok(&test, px_save_memory(test.context, model, "again.fbx", NULL, &bytes));
    test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "again.fbx", NULL, &again));
    assert_int_equal(again->mesh.vertex_count, model->mesh.vertex_count);
    assert_int_equal(again->mesh.points.count, model->mesh.points.count);
    assert_int_equal(again->mesh.polygon_count, model->mesh.polygon_count);
    assert_int_equal(again->mesh.part_count, 2);
    assert_string_equal(again->mesh.parts[1].material, "blue");
    assert_int_equal(again->skeleton.joint_count, 3);
    assert_string_equal(again->skeleton.names[2], "upper");
    assert_int_equal(again->skin.bone_count, 2);
    assert_int_equal(again->morphs.morph_count, 2);
    assert_string_equal(again->motions[0].name, "wave");
    for (int k = 0; k <= 20; k++)
        same_pose(&test, model, again, (float)k / 20, 2e-5f);
    pelt_model_destroy(again);
    px_buffer_free(&bytes);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Axes, units and frames of a program are those of the file only: it is read as the same model. */
static void targets_hold_the_same_scene(void **state) {
    (void)state;
    static const struct {
        double up, unit, mode;
    } wanted[] = {{1, 1, 6}, {2, 1, 11}, {1, 100, 11}, {1, 1, 11}}; /* keys of the scene are at 24 Hz */
    for (uint32_t target = PELT_FILE_ANY; target <= PELT_FILE_MAYA; target++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = read_file(&test, files[0], NULL), *again;
        px_buffer bytes = {.context = test.context};
        pelt_save_desc desc = pelt_save_desc_default();
        desc.target = target;
        test_ok(&test, px_save_memory(test.context, model, "again.fbx", &desc, &bytes));
        assert_true(has_setting(&bytes, "UpAxis", wanted[target].up, false));
        assert_true(has_setting(&bytes, "UnitScaleFactor", wanted[target].unit, true));
        assert_true(has_setting(&bytes, "TimeMode", wanted[target].mode, false));
        test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "again.fbx", NULL, &again));
        assert_float_equal(again->motions[0].end, 1, 1e-6);
        for (int k = 0; k <= 24; k++) /* whole frames of some, between those of others */
            same_pose(&test, model, again, (float)k / 24, k % 4 == 0 ? 2e-5f : 2e-2f);
        pelt_model_destroy(again);
        px_buffer_free(&bytes);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* Names of nodes are unique in the file; those of the model come back. */
static void equal_names_come_back(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_file(&test, files[1], NULL), *again;
    px_buffer bytes = {.context = test.context};
    model->skeleton.names[2] = model->skeleton.names[1];
    model->skeleton.names[1] = model->skeleton.names[0];
    test_ok(&test, px_save_memory(test.context, model, "again.fbx", NULL, &bytes));
    test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "again.fbx", NULL, &again));
    for (uint32_t j = 0; j < 3; j++)
        assert_string_equal(again->skeleton.names[j], model->skeleton.names[j]);
    same_pose(&test, model, again, 0.5f, 1e-5f);
    pelt_model_destroy(again);
    pelt_model_destroy(model);
    px_buffer_free(&bytes);
    test_end(&test);
}

/* A mesh without parts, as that of a point cache, is written as one. */
static void meshes_without_parts_are_written(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_file(&test, files[1], NULL), *bare, *again;
    px_buffer bytes = {.context = test.context};
    test_ok(&test, pelt_model_create(test.context, &bare));
    bare->mesh = model->mesh;
    bare->mesh.part_count = 0;
    test_ok(&test, px_save_memory(test.context, bare, "again.fbx", NULL, &bytes));
    test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "again.fbx", NULL, &again));
    assert_int_equal(again->mesh.vertex_count, model->mesh.vertex_count);
    assert_int_equal(again->mesh.triangle_count, model->mesh.triangle_count);
    pelt_model_destroy(again);
    pelt_model_destroy(bare);
    pelt_model_destroy(model);
    px_buffer_free(&bytes);
    test_end(&test);
}

/* Colours, roughness and images of a glTF file are in the FBX file, and come back from there to FBX and glTF. */
static void materials_come_back(void **state) {
    (void)state;
    static const char gltf[] =
        "{\"asset\":{\"version\":\"2.0\"},\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"name\":\"leaf\"}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"material\":0}]}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"min\":[0,0,0],"
        "\"max\":[1,1,0]}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":36}],\"buffers\":[{\"byteLength\":36,"
        "\"uri\":\"data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA\"}],"
        "\"images\":[{\"name\":\"bark/1\",\"uri\":\"data:image/png;base64,iVBORw0KGgphYmNkZWY=\"}],"
        "\"textures\":[{\"source\":0}],"
        "\"materials\":[{\"name\":\"leaf\",\"emissiveFactor\":[0,0.5,0],\"normalTexture\":{\"index\":0},"
        "\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.25,0.5,1,0.75],\"metallicFactor\":0.5,"
        "\"roughnessFactor\":0.5,\"baseColorTexture\":{\"index\":0}}}]}";
    static const char *const names[] = {"a.fbx", "b.fbx", "c.glb"};
    test_context test;
    test_begin(&test, 1);
    pelt_model *models[4];
    px_buffer bytes[3];
    test_ok(&test, pelt_load_memory(test.context, gltf, strlen(gltf), "leaf.gltf", NULL, &models[0]));
    for (int n = 0; n < 3; n++) {
        bytes[n] = (px_buffer){.context = test.context};
        px_materials all;
        test_ok(&test, px_save_memory(test.context, models[n], names[n], NULL, &bytes[n]));
        test_ok(&test, pelt_load_memory(test.context, bytes[n].data, bytes[n].size, names[n], NULL, &models[n + 1]));
        test_ok(&test, px_materials_get(models[n + 1]->memory, models[n + 1], &all));
        const px_material *material = px_material_named(&all, "leaf");
        assert_non_null(material);
        assert_float_equal(material->base_color[0], 0.25f, 1e-6);
        assert_float_equal(material->base_color[3], 0.75f, 1e-6);
        assert_float_equal(material->emissive[1], 0.5f, 1e-6);
        assert_float_equal(material->metallic, 0.5f, 1e-6);
        assert_float_equal(material->roughness, 0.5f, 1e-6);
        assert_int_equal(material->textures[PX_TEXTURE_EMISSIVE].image, PELT_NONE);
        for (int use = PX_TEXTURE_BASE; use <= PX_TEXTURE_NORMAL; use += PX_TEXTURE_NORMAL - PX_TEXTURE_BASE) {
            assert_in_range(material->textures[use].image, 0, all.image_count - 1);
            const px_image *image = &all.images[material->textures[use].image];
            assert_int_equal(image->size, 14);
            assert_memory_equal(image->data, "\x89PNG\r\n\x1a\nabcdef", 14);
            assert_string_equal(image->name, "bark_1");
            assert_string_equal(image->extension, "png");
        }
        assert_null(px_material_named(&all, "bark"));
    }
    for (int n = 3; n >= 0; n--)
        pelt_model_destroy(models[n]);
    for (int n = 0; n < 3; n++)
        px_buffer_free(&bytes[n]);
    test_end(&test);
}

/* Most files store normals and texture coordinates for each corner: equal ones are one vertex. Materials have vertices
 * of their own. */
static void equal_corners_are_one_vertex(void **state) {
    (void)state;
    static const char text[] =
        "; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"Model::a\", \"Mesh\" {}\n"
        "Material: 3, \"Material::x\", \"\" {}\nMaterial: 4, \"Material::y\", \"\" {}\n"
        "Geometry: 2, \"Geometry::g\", \"Mesh\" {\n"
        "Vertices: *24 { a: 0,0,0,1,0,0,2,0,0,3,0,0,0,1,0,1,1,0,2,1,0,3,1,0 }\n"
        "PolygonVertexIndex: *12 { a: 0,1,5,-5,1,2,6,-6,2,3,7,-7 }\n"
        "LayerElementNormal: 0 {\nMappingInformationType: \"ByPolygonVertex\"\nReferenceInformationType: \"Direct\"\n"
        "Normals: *36 { a: 0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1,0,0,1 }\n}\n"
        "LayerElementUV: 0 {\nMappingInformationType: \"ByPolygonVertex\"\nReferenceInformationType: \"Direct\"\n"
        "UV: *24 { a: 0,0,1,0,1,1,0,1,1,0,2,0,2,1,1,1,2,0,3,0,3,1,2,1 }\n}\n"
        "LayerElementMaterial: 0 {\nMappingInformationType: \"ByPolygon\"\nReferenceInformationType: "
        "\"IndexToDirect\"\nMaterials: *3 { a: 1,0,0 }\n}\n}\n}\n"
        "Connections: {\nC: \"OO\",1,0\nC: \"OO\",2,1\nC: \"OO\",3,1\nC: \"OO\",4,1\n}\n";
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_load_memory(test.context, text, strlen(text), "a.fbx", NULL, &model));
    assert_int_equal(model->mesh.points.count, 8);
    assert_int_equal(model->mesh.vertex_count, 10); /* two points are in both materials */
    assert_int_equal(model->mesh.part_count, 2);
    assert_int_equal(model->mesh.parts[0].vertex_count, 6);
    assert_int_equal(model->mesh.parts[1].first_vertex, 6);
    assert_int_equal(model->mesh.parts[1].vertex_count, 4);
    assert_string_equal(model->mesh.parts[1].material, "y");
    for (size_t c = 12; c < 18; c++)
        assert_in_range(model->mesh.triangles[c], 6, 9);
    assert_float_equal(model->mesh.uvs[2 * 7], 1, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Layers are applied in their order: the second adds half of its values, the third takes the place of half of the sum, a muted one does
 * nothing. */
static void layers_are_blended(void **state) {
    (void)state;
    static const char text[] =
        "; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"Model::a\", \"Null\" {}\n"
        "AnimationStack: 2, \"AnimStack::walk\", \"\" {}\nAnimationLayer: 10, \"AnimLayer::base\", \"\" {}\n"
        "AnimationLayer: 11, \"AnimLayer::more\", \"\" {\nProperties70: {\nP: \"Weight\", \"Number\", \"\", "
        "\"A\",50\n}\n}\n"
        "AnimationLayer: 12, \"AnimLayer::other\", \"\" {\nProperties70: {\nP: \"Weight\", \"Number\", \"\", \"A\",50\n"
        "P: \"BlendMode\", \"enum\", \"\", \"\",1\n}\n}\n"
        "AnimationLayer: 13, \"AnimLayer::off\", \"\" {\nProperties70: {\nP: \"Mute\", \"bool\", \"\", \"\",1\n}\n}\n"
        "AnimationCurveNode: 20, \"AnimCurveNode::T\", \"\" {\nProperties70: {\nP: \"d|Y\", \"Number\", \"\", \"A\",0\n"
        "P: \"d|Z\", \"Number\", \"\", \"A\",0\n}\n}\n"
        "AnimationCurveNode: 21, \"AnimCurveNode::T\", \"\" {\nProperties70: {\nP: \"d|X\", \"Number\", \"\", "
        "\"A\",400\n}\n}\n"
        "AnimationCurveNode: 22, \"AnimCurveNode::T\", \"\" {\nProperties70: {\nP: \"d|X\", \"Number\", \"\", "
        "\"A\",1000\n}\n}\n"
        "AnimationCurveNode: 23, \"AnimCurveNode::T\", \"\" {\nProperties70: {\nP: \"d|X\", \"Number\", \"\", "
        "\"A\",7\n}\n}\n"
        "AnimationCurveNode: 24, \"AnimCurveNode::R\", \"\" {\nProperties70: {\nP: \"d|Z\", \"Number\", \"\", "
        "\"A\",60\n}\n}\n"
        "AnimationCurveNode: 25, \"AnimCurveNode::S\", \"\" {\nProperties70: {\nP: \"d|X\", \"Number\", \"\", \"A\",4\n"
        "P: \"d|Y\", \"Number\", \"\", \"A\",4\nP: \"d|Z\", \"Number\", \"\", \"A\",4\n}\n}\n"
        "AnimationCurve: 30, \"AnimCurve::\", \"\" {\nKeyTime: *2 { a: 0,46186158000 }\nKeyValueFloat: *2 { a: 0,100 "
        "}\n"
        "KeyAttrFlags: *1 { a: 4 }\nKeyAttrDataFloat: *4 { a: 0,0,0,0 }\nKeyAttrRefCount: *1 { a: 2 }\n}\n}\n"
        "Connections: {\nC: \"OO\",1,0\nC: \"OO\",10,2\nC: \"OO\",11,2\nC: \"OO\",12,2\nC: \"OO\",13,2\nC: "
        "\"OO\",20,10\n"
        "C: \"OO\",21,11\nC: \"OO\",24,11\nC: \"OO\",25,11\nC: \"OO\",22,12\nC: \"OO\",23,13\n"
        "C: \"OP\",20,1, \"Lcl Translation\"\n"
        "C: \"OP\",21,1, \"Lcl Translation\"\nC: \"OP\",22,1, \"Lcl Translation\"\nC: \"OP\",23,1, \"Lcl "
        "Translation\"\n"
        "C: \"OP\",24,1, \"Lcl Rotation\"\nC: \"OP\",25,1, \"Lcl Scaling\"\nC: \"OP\",30,20, \"d|X\"\n}\n";
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    pelt_transform local;
    test_ok(&test, pelt_load_memory(test.context, text, strlen(text), "a.fbx", NULL, &model));
    assert_int_equal(model->motion_count, 1);
    pelt_motion_sample(model, &model->motions[0], 0.5f, &local, NULL);
    /* Centimetres: 0.5 · (50 + 0.5 · 400) + 0.5 · 1000; half of 60°; the root of 4. */
    assert_float_equal(local.translation[0], 6.25f, 1e-5);
    assert_float_equal(local.rotation[2], 0.258819f, 1e-5);
    assert_float_equal(local.scale[1], 2, 1e-5);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Rejected files -------------------------------------------------------------------------------------- */

static void bad_files_are_rejected(void **state) {
    (void)state;
    static const test_bad_text cases[] = {
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\n", "no nodes"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 6100\n}\n", "version 6.1"},
        {"; FBX 7.4.0\nObjects: {\n", "line 3: '}' is missing"},
        {"; FBX 7.4.0\nObjects }\n", "line 2: 'NAME:' is expected"},
        {"; FBX 7.4.0\n}\n", "'}' has no '{'"},
        {"; FBX 7.4.0\nA: \"text\n", "a text has no end"},
        {"; FBX 7.4.0\nA: *3 {\n", "an array has no content"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"\" {}\nModel: 1, "
         "\"b\", \"\" {}\n}\n",
         "two objects have the number 1"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"Mesh\" {}\nGeometry: "
         "2, \"g\", \"Mesh\" {\n"
         "Vertices: *3 { a: 0,0,0 }\nPolygonVertexIndex: *3 { a: 0,0,-5 }\n}\n}\nConnections: {\nC: \"OO\",1,0\nC: "
         "\"OO\",2,1\n}\n",
         "refers to point 4 of 1"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"Mesh\" {}\nGeometry: "
         "2, \"g\", \"Mesh\" {\n"
         "Vertices: *3 { a: 0,0,x }\n}\n}\nConnections: {\nC: \"OO\",1,0\nC: \"OO\",2,1\n}\n",
         "where a number is expected"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"Mesh\" {}\nGeometry: "
         "2, \"g\", "
         "\"Mesh\" {\nVertices: *3 { a: 0 0 0 }\n}\n}\nConnections: {\nC: \"OO\",1,0\nC: \"OO\",2,1\n}\n",
         "where a number is expected"}, /* numbers without commas */
    };
    test_texts_are_rejected(cases, PX_COUNT(cases), "bad.fbx");
}

/* ---- Decompression ------------------------------------------------------------------------------------------ */

/* "a" 300 times: literals, then copies that overlap themselves. The corpus has blocks with codes of their own. */
static void compressed_bytes_come_back(void **state) {
    (void)state;
    static const uint8_t repeated[] = {0x78, 0xDA, 0x4B, 0x4C, 0x1C, 0x05, 0xC4, 0x02, 0x00, 0xD8, 0xA8, 0x71, 0xAD};
    static const uint8_t stored[] = {0x78, 0x01, 0x01, 0x03, 0x00, 0xFC, 0xFF, 'a', 'b', 'c', 0x02, 0x4D, 0x01, 0x27};
    uint8_t out[300], wanted[300];
    memset(wanted, 'a', sizeof wanted);
    assert_true(px_inflate(repeated, sizeof repeated, out, sizeof out));
    assert_memory_equal(out, wanted, sizeof wanted);
    assert_true(px_inflate(stored, sizeof stored, out, 3));
    assert_memory_equal(out, "abc", 3);
    assert_false(px_inflate(repeated, sizeof repeated, out, 299)); /* more than there is room for */
    assert_false(px_inflate(stored, sizeof stored, out, 4));       /* fewer than promised */
    for (size_t size = 0; size < 8; size++)
        assert_false(px_inflate(repeated, size, out, sizeof out));
    uint8_t wrong[sizeof repeated];
    memcpy(wrong, repeated, sizeof wrong);
    wrong[2] |= 7; /* a block of no kind */
    assert_false(px_inflate(wrong, sizeof wrong, out, sizeof out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_hold_the_same_scene),
        cmocka_unit_test(units_can_be_given),
        cmocka_unit_test(written_files_come_back),
        cmocka_unit_test(targets_hold_the_same_scene),
        cmocka_unit_test(equal_names_come_back),
        cmocka_unit_test(meshes_without_parts_are_written),
        cmocka_unit_test(materials_come_back),
        cmocka_unit_test(equal_corners_are_one_vertex),
        cmocka_unit_test(layers_are_blended),
        cmocka_unit_test(bad_files_are_rejected),
        cmocka_unit_test(compressed_bytes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
