// SPDX-License-Identifier: Apache-2.0
// Kernels that read and write images.

kernel void sample_2d(read_only image2d_t image, sampler_t how, global const float2 *at, global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = read_imagef(image, how, at[i]);
}

constant sampler_t repeated = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST;
constant sampler_t mirrored = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_NEAREST;
constant sampler_t relative = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST;

kernel void sample_by_constants(read_only image2d_t image, global const float2 *at, global float4 *out) {
    size_t i = get_global_id(0);
    out[i].x = read_imagef(image, repeated, at[i]).x;
    out[i].y = read_imagef(image, mirrored, at[i]).x;
    out[i].z = read_imagef(image, relative, at[i]).x;
}

kernel void read_1d(read_only image1d_t image, global uint4 *out) {
    size_t i = get_global_id(0);
    out[i] = read_imageui(image, (int)i);
}

kernel void read_levels(read_only image1d_array_t image, global int4 *out) {
    size_t i = get_global_linear_id();
    out[i] = read_imagei(image, (int2)(get_global_id(0), get_global_id(1)));
}

kernel void read_buffer(read_only image1d_buffer_t image, global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = read_imagef(image, (int)i);
}

kernel void double_2d(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, read_imageui(from, at) * 2);
}

kernel void double_array(read_only image2d_array_t from, write_only image2d_array_t to) {
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    write_imageui(to, at, read_imageui(from, at) * 2);
}

kernel void double_3d(read_only image3d_t from, write_only image3d_t to) {
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    write_imageui(to, at, read_imageui(from, at) * 2);
}

kernel void size_2d(read_only image2d_t image, global int2 *out) {
    *out = get_image_dim(image);
}
