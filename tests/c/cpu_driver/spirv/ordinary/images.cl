// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void sample(read_only image2d_t image, sampler_t sampler, global float4 *out) {
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.x] = read_imagef(image, sampler, (float2)(0.5f, 0.25f)) + read_imagef(image, nearest, at);
}

kernel void store(write_only image2d_t image, write_only image1d_t line, write_only image3d_t solid) {
    const int x = get_global_id(0);
    write_imageui(image, (int2)(x, 1), (uint4)(x));
    write_imagei(line, x, (int4)(x));
    write_imagef(solid, (int4)(x, 0, 0, 0), (float4)(1.0f));
}

kernel void sizes(read_only image2d_array_t array, read_only image3d_t solid,
                  read_only image1d_buffer_t buffer, global int *out) {
    out[0] = get_image_width(array) + get_image_height(array) + (int)get_image_array_size(array);
    out[1] = get_image_depth(solid) + get_image_dim(solid).y + get_image_channel_order(solid);
    out[2] = read_imagei(buffer, 3).x + get_image_channel_data_type(buffer);
}
