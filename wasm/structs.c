/* Structs as JavaScript reads them: names, kinds and places of their fields. */
#include <emscripten.h>
#include <pelt/pelt.h>
#include <stddef.h>

/* One field for JavaScript. Small letters are values in the struct, `width` of them: u uint32_t, d double, f float, b bool,
 * s text. Capital letters are pointers to arrays of the same types, and H of uint16_t, C of uint8_t: (count + extra) · width
 * elements, with the count at count_offset. */
typedef struct field {
    const char *name;
    uint32_t kind, offset, count_offset, extra, width;
} field;

typedef struct struct_row {
    const char *name;
    uint32_t size, field_count;
    const field *fields;
} struct_row;

#define VALUES(kind, member, width)                                                                                    \
    { #member, kind, offsetof(TYPE, member), 0, 0, width }
#define VALUE(kind, member) VALUES(kind, member, 1)
#define ARRAY(kind, member, count, width)                                                                              \
    { #member, kind, offsetof(TYPE, member), offsetof(TYPE, count), 0, width }
#define ARRAY_MORE(kind, member, count, more)                                                                          \
    { #member, kind, offsetof(TYPE, member), offsetof(TYPE, count), more, 1 }

#define TYPE pelt_mesh
static const field mesh_fields[] = {
    VALUE('u', vertex_count),
    VALUE('u', triangle_count),
    VALUE('u', polygon_count),
    VALUE('u', part_count),
    ARRAY('F', positions, vertex_count, 3),
    ARRAY('F', normals, vertex_count, 3),
    ARRAY('F', tangents, vertex_count, 4),
    ARRAY('F', uvs, vertex_count, 2),
    ARRAY('F', colors, vertex_count, 3),
    ARRAY('U', triangles, triangle_count, 3),
    ARRAY('U', triangle_polygons, triangle_count, 1),
    ARRAY('U', origins, vertex_count, 1),
};
#undef TYPE
#define TYPE pelt_part
static const field part_fields[] = {
    VALUE('s', name),         VALUE('s', material),     VALUE('u', first_triangle), VALUE('u', triangle_count),
    VALUE('u', first_vertex), VALUE('u', vertex_count), VALUE('u', joint),          VALUE('b', skinned),
};
#undef TYPE
#define TYPE pelt_skeleton
static const field skeleton_fields[] = {
    VALUE('u', joint_count),
    ARRAY('S', names, joint_count, 1),
    ARRAY('U', parents, joint_count, 1),
    ARRAY('F', rest, joint_count, 10),
};
#undef TYPE
#define TYPE pelt_motion
static const field motion_fields[] = {VALUE('s', name), VALUE('f', start), VALUE('f', end), VALUE('u', track_count)};
#undef TYPE
#define TYPE pelt_clip
static const field clip_fields[] = {VALUE('s', name), VALUE('u', frame_count), VALUE('u', point_count),
                                    ARRAY('F', times, frame_count, 1)};
#undef TYPE
#define TYPE pelt_skin
static const field skin_fields[] = {VALUE('u', bone_count), VALUE('u', influence_count),
                                    ARRAY('U', bone_joints, bone_count, 1), ARRAY('F', inverse_binds, bone_count, 12)};
#undef TYPE
#define TYPE pelt_morph
static const field morph_fields[] = {
    VALUE('s', name),         VALUE('u', joint),        VALUE('u', index),
    VALUE('u', first_vertex), VALUE('u', vertex_count), VALUE('f', weight),
};
#undef TYPE
#define TYPE pelt_slider
static const field slider_fields[] = {VALUE('s', name), VALUE('f', value)};
#undef TYPE
#define TYPE pelt_decompose_report
static const field decompose_fields[] = {
    VALUE('u', vertex_count),
    VALUE('u', frame_count),
    VALUE('u', bone_count),
    VALUE('u', influence_count),
    VALUE('u', dimension),
    VALUE('u', iteration_count),
    VALUE('d', error_fit),
    VALUE('d', seconds_reduce),
    VALUE('d', seconds_seed),
    VALUE('d', seconds_solve),
    ARRAY('F', iteration_errors, iteration_count, 1),
    VALUE('b', keeps_morphs),
    ARRAY('U', search_bones, search_count, 1),
    ARRAY('F', search_errors, search_count, 1),
    VALUE('d', near_rigid),
    VALUE('d', core_fraction),
    VALUE('u', negative_count),
};
#undef TYPE
#define TYPE pelt_bind_report
static const field bind_fields[] = {
    VALUES('u', grid, 3),
    VALUES('d', cell, 3),
    VALUE('u', interior_voxel_count),
    VALUE('u', boundary_voxel_count),
    VALUE('u', block_size),
    VALUE('u', solved_voxel_count),
    VALUE('u', vertex_count),
    VALUE('u', bridged_count),
    VALUE('u', rigid_count),
    VALUE('u', unmatched_count),
    VALUE('u', outside_count),
    ARRAY('U', bridged_parts, bridged_part_count, 1),
    VALUE('u', joint_count),
    ARRAY('C', idle, joint_count, 1),
    VALUE('u', touching_count),
    VALUES('u', touching_joints, 2),
    VALUE('d', seconds_fit),
    VALUE('d', seconds_voxelize),
    VALUE('d', seconds_solve),
    VALUE('d', seconds_weights),
};
#undef TYPE
#define TYPE pelt_correct_report
static const field correct_fields[] = {
    VALUE('u', rank),           VALUE('u', normal_rank),     VALUE('u', frame_count),
    VALUE('u', vertex_count),   VALUE('u', ill_conditioned), ARRAY_MORE('D', errors, rank, 1),
    VALUE('d', normals_before), VALUE('d', normals_after),
};
#undef TYPE
#define TYPE pelt_eigenskin_report
static const field eigenskin_fields[] = {
    VALUE('u', example_count),  VALUE('u', pose_count),    VALUE('u', rest_count),
    VALUE('u', odd_count),      VALUE('u', mode_count),    VALUE('u', morph_count),
    VALUE('u', vertex_count),   VALUE('u', joint_count),   ARRAY_MORE('D', errors, mode_count, 1),
    VALUE('d', left_out_error), VALUE('d', turn_degrees),  VALUE('u', ill_conditioned),
    VALUE('d', normals_before), VALUE('d', normals_after),
};
#undef TYPE
#define TYPE pelt_retarget_report
static const field retarget_fields[] = {
    VALUE('u', matched), VALUE('u', frame_count), VALUE('d', fps),  VALUE('d', scale),
    VALUE('d', lift),    VALUE('d', stretch),     VALUE('b', torn),
};
#undef TYPE
#define TYPE pelt_simplify_report
static const field simplify_fields[] = {
    VALUE('u', triangles_before),
    VALUE('u', triangle_count),
    VALUE('u', vertices_before),
    VALUE('u', vertex_count),
    VALUE('u', wanted_count),
    VALUE('u', pose_count),
    VALUE('d', harm),
};
#undef TYPE
#define TYPE pelt_jiggle_report
static const field jiggle_fields[] = {
    VALUE('u', cell_count), VALUE('u', particle_count), VALUE('u', pinned_count),
    VALUE('d', cell),       VALUE('u', volume_count),   VALUE('u', teleport_count),
};
#undef TYPE
#define TYPE pelt_jiggle_lattice
static const field lattice_fields[] = {
    VALUE('u', cell_count),
    VALUE('u', particle_count),
    ARRAY('U', cells, cell_count, 8),
    ARRAY('F', positions, particle_count, 4),
};
#undef TYPE
#define TYPE pelt_difference
static const field difference_fields[] = {
    VALUE('u', frame_count), VALUE('u', point_count),     VALUE('d', error_rms), VALUE('d', error_kg),
    VALUE('d', error_max),   VALUE('d', error_max_units), VALUE('u', max_frame), VALUE('u', max_point),
    VALUE('d', normal_rms),  VALUE('d', normal_degrees),
};
#undef TYPE
#define TYPE pelt_bind_voxels
static const field voxel_fields[] = {
    VALUE('u', count),    VALUES('d', origin, 3),      VALUES('d', cell, 3),
    VALUES('f', axes, 9), ARRAY('H', cells, count, 3), ARRAY('C', boundary, count, 1),
};
#undef TYPE
#define TYPE pelt_bind_section
static const field section_fields[] = {VALUE('u', width), VALUE('u', height), VALUE('d', position)};
#undef TYPE
#define TYPE pelt_memory_info
static const field memory_fields[] = {VALUE('u', current), VALUE('u', peak)};
#undef TYPE

#define STRUCT(name, type, fields)                                                                                     \
    { name, sizeof(type), sizeof(fields) / sizeof(fields)[0], fields }

/* The structs, ended by a row without a name. */
EMSCRIPTEN_KEEPALIVE const struct_row *pw_structs(void) {
    static const struct_row rows[] = {
        STRUCT("mesh", pelt_mesh, mesh_fields),
        STRUCT("part", pelt_part, part_fields),
        STRUCT("skeleton", pelt_skeleton, skeleton_fields),
        STRUCT("motion", pelt_motion, motion_fields),
        STRUCT("clip", pelt_clip, clip_fields),
        STRUCT("skin", pelt_skin, skin_fields),
        STRUCT("morph", pelt_morph, morph_fields),
        STRUCT("slider", pelt_slider, slider_fields),
        STRUCT("decompose", pelt_decompose_report, decompose_fields),
        STRUCT("bind", pelt_bind_report, bind_fields),
        STRUCT("correct", pelt_correct_report, correct_fields),
        STRUCT("eigenskin", pelt_eigenskin_report, eigenskin_fields),
        STRUCT("simplify", pelt_simplify_report, simplify_fields),
        STRUCT("retarget", pelt_retarget_report, retarget_fields),
        STRUCT("jiggle", pelt_jiggle_report, jiggle_fields),
        STRUCT("lattice", pelt_jiggle_lattice, lattice_fields),
        STRUCT("difference", pelt_difference, difference_fields),
        STRUCT("voxels", pelt_bind_voxels, voxel_fields),
        STRUCT("section", pelt_bind_section, section_fields),
        STRUCT("memory", pelt_memory_info, memory_fields),
        {NULL, 0, 0, NULL},
    };
    return rows;
}
