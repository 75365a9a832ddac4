// SPDX-License-Identifier: Apache-2.0
//
// The part of the OpenCL 3.0 API (and of cl_intel_unified_shared_memory) that this driver calls, declared
// here so that building needs no OpenCL headers. Names, types and values are those of the Khronos
// specification.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ze_cpu::cl {

using Int = int32_t;
using Uint = uint32_t;
using Ulong = uint64_t;
using Bool = uint32_t;

using Platform = struct PlatformTag *;
using Device = struct DeviceTag *;
using Context = struct ContextTag *;
using Queue = struct QueueTag *;
using Program = struct ProgramTag *;
using Kernel = struct KernelTag *;
using Event = struct EventTag *;
using Mem = struct MemTag *;
using Sampler = struct SamplerTag *;

struct ImageFormat {
    Uint order, data_type;
    bool operator==(const ImageFormat &) const = default;
};
struct ImageDesc {
    Uint type;
    size_t width, height, depth, array_size, row_pitch, slice_pitch;
    Uint mip_levels, samples;
    Mem buffer;
};

inline constexpr Int success = 0;
inline constexpr Int mem_allocation_failure = -4;
inline constexpr Int out_of_resources = -5;
inline constexpr Int out_of_host_memory = -6;
inline constexpr Int image_format_not_supported = -10;
inline constexpr Int invalid_mem_object = -38; // also: an image of another type
inline constexpr Int invalid_image_format_descriptor = -39;
inline constexpr Int invalid_image_size = -40;
inline constexpr Int invalid_arg_value = -50;
inline constexpr Int invalid_kernel_args = -52;
inline constexpr Int invalid_work_group_size = -54;
inline constexpr Int invalid_work_item_size = -55;
inline constexpr Int invalid_buffer_size = -61;
inline constexpr Int invalid_global_work_size = -63;
inline constexpr Int invalid_image_descriptor = -65;
inline constexpr Int complete = 0; // execution status of an event; negative values are errors

inline constexpr Ulong device_type_cpu = 1 << 1;
inline constexpr Uint exec_native_kernel = 1 << 1;

// clGetDeviceInfo
inline constexpr Uint device_vendor_id = 0x1001;
inline constexpr Uint device_max_compute_units = 0x1002;
inline constexpr Uint device_max_work_group_size = 0x1004;
inline constexpr Uint device_max_work_item_sizes = 0x1005;
inline constexpr Uint device_preferred_vector_width_char = 0x1006; // short, int, long, float, double follow
inline constexpr Uint device_max_clock_frequency = 0x100C;
inline constexpr Uint device_max_read_image_args = 0x100E;
inline constexpr Uint device_max_write_image_args = 0x100F;
inline constexpr Uint device_max_mem_alloc_size = 0x1010;
inline constexpr Uint device_image2d_max_width = 0x1011;
inline constexpr Uint device_image2d_max_height = 0x1012;
inline constexpr Uint device_image3d_max_width = 0x1013;
inline constexpr Uint device_image3d_max_height = 0x1014;
inline constexpr Uint device_image3d_max_depth = 0x1015;
inline constexpr Uint device_max_parameter_size = 0x1017;
inline constexpr Uint device_max_samplers = 0x1018;
inline constexpr Uint device_single_fp_config = 0x101B;
inline constexpr Uint device_global_mem_cache_size = 0x101E;
inline constexpr Uint device_global_mem_size = 0x101F;
inline constexpr Uint device_local_mem_size = 0x1023;
inline constexpr Uint device_execution_capabilities = 0x1029;
inline constexpr Uint device_name = 0x102B;
inline constexpr Uint driver_version = 0x102D;
inline constexpr Uint device_extensions = 0x1030;
inline constexpr Uint device_double_fp_config = 0x1032;
inline constexpr Uint device_half_fp_config = 0x1033;
inline constexpr Uint device_preferred_vector_width_half = 0x1034;
inline constexpr Uint device_native_vector_width_char = 0x1036; // the other types follow, too
inline constexpr Uint device_native_vector_width_int = 0x1038;
inline constexpr Uint device_native_vector_width_half = 0x103C;
inline constexpr Uint device_image_max_buffer_size = 0x1040;
inline constexpr Uint device_image_max_array_size = 0x1041;
inline constexpr Uint device_printf_buffer_size = 0x1049;
inline constexpr Uint device_il_version = 0x105B;
inline constexpr Uint device_sub_group_sizes_intel = 0x4108;
inline constexpr Uint device_single_fp_atomic_capabilities = 0x4231; // of cl_ext_float_atomics
inline constexpr Uint device_double_fp_atomic_capabilities = 0x4232;
inline constexpr Uint device_half_fp_atomic_capabilities = 0x4233;
inline constexpr Uint device_shared_system_mem_capabilities_intel = 0x4194;

// Bits of device_single_fp_config and the like.
inline constexpr Ulong fp_denorm = 1 << 0;
inline constexpr Ulong fp_inf_nan = 1 << 1;
inline constexpr Ulong fp_round_to_nearest = 1 << 2;
inline constexpr Ulong fp_round_to_zero = 1 << 3;
inline constexpr Ulong fp_round_to_inf = 1 << 4;
inline constexpr Ulong fp_fma = 1 << 5;
inline constexpr Ulong fp_soft_float = 1 << 6;
inline constexpr Ulong fp_correctly_rounded_divide_sqrt = 1 << 7;

inline constexpr Ulong queue_properties = 0x1093;
inline constexpr Ulong queue_profiling_enable = 1 << 1;
inline constexpr Ulong queue_own_thread = Ulong(1) << 31; // of cl_intel_exec_by_local_thread

inline constexpr Uint program_binary_sizes = 0x1165;
inline constexpr Uint program_binaries = 0x1166;
inline constexpr Uint program_build_log = 0x1183;

inline constexpr Uint kernel_work_group_size = 0x11B0;
inline constexpr Uint kernel_local_mem_size = 0x11B2;
inline constexpr Uint kernel_preferred_work_group_size_multiple = 0x11B3;
inline constexpr Uint kernel_private_mem_size = 0x11B4;
inline constexpr Uint kernel_max_sub_group_size_for_ndrange = 0x2033;
inline constexpr Uint kernel_max_num_sub_groups = 0x11B9;

inline constexpr Uint event_command_execution_status = 0x11D3;
inline constexpr Uint profiling_command_start = 0x1282;
inline constexpr Uint profiling_command_end = 0x1283;

// Images and samplers
inline constexpr Ulong mem_read_write = 1 << 0;
inline constexpr Uint order_r = 0x10B0;
inline constexpr Uint order_a = 0x10B1;
inline constexpr Uint order_rg = 0x10B2;
inline constexpr Uint order_ra = 0x10B3;
inline constexpr Uint order_rgba = 0x10B5;
inline constexpr Uint order_bgra = 0x10B6;
inline constexpr Uint order_argb = 0x10B7;
inline constexpr Uint order_intensity = 0x10B8;
inline constexpr Uint order_luminance = 0x10B9;
// Types of 8 bits; each is followed by the types of 16 and, for integers, 32 bits.
inline constexpr Uint snorm_int8 = 0x10D0;
inline constexpr Uint unorm_int8 = 0x10D2;
inline constexpr Uint signed_int8 = 0x10D7;
inline constexpr Uint unsigned_int8 = 0x10DA;
inline constexpr Uint half_float = 0x10DD;
inline constexpr Uint full_float = 0x10DE;
inline constexpr Uint image_2d = 0x10F1;
inline constexpr Uint image_3d = 0x10F2;
inline constexpr Uint image_2d_array = 0x10F3;
inline constexpr Uint image_1d = 0x10F4;
inline constexpr Uint image_1d_array = 0x10F5;
inline constexpr Uint image_1d_buffer = 0x10F6;
inline constexpr Uint mem_size = 0x1102;
inline constexpr Uint image_row_pitch = 0x1112;
inline constexpr Uint image_slice_pitch = 0x1113; // 0 for images of one slice
inline constexpr Ulong address_none = 0x1130;
inline constexpr Ulong address_clamp_to_edge = 0x1131;
inline constexpr Ulong address_clamp = 0x1132; // to the border
inline constexpr Ulong address_repeat = 0x1133;
inline constexpr Ulong address_mirrored_repeat = 0x1134;
inline constexpr Ulong filter_nearest = 0x1140;
inline constexpr Ulong filter_linear = 0x1141;
inline constexpr Ulong sampler_normalized_coords = 0x1152;
inline constexpr Ulong sampler_addressing_mode = 0x1153;
inline constexpr Ulong sampler_filter_mode = 0x1154;

// One row per function that the runtime library exports: X(name, result, parameters).
#define ZE_CPU_OPENCL_FUNCTIONS(X)                                                                           \
    X(clGetPlatformIDs, Int, (Uint, Platform *, Uint *))                                                     \
    X(clGetDeviceIDs, Int, (Platform, Ulong, Uint, Device *, Uint *))                                        \
    X(clGetDeviceInfo, Int, (Device, Uint, size_t, void *, size_t *))                                        \
    X(clGetExtensionFunctionAddressForPlatform, void *, (Platform, const char *))                            \
    X(clCreateContext, Context,                                                                              \
      (const intptr_t *, Uint, const Device *, void (*)(const char *, const void *, size_t, void *), void *, \
       Int *))                                                                                               \
    X(clCreateCommandQueueWithProperties, Queue, (Context, Device, const Ulong *, Int *))                    \
    X(clReleaseCommandQueue, Int, (Queue))                                                                   \
    X(clFlush, Int, (Queue))                                                                                 \
    X(clFinish, Int, (Queue))                                                                                \
    X(clCreateProgramWithIL, Program, (Context, const void *, size_t, Int *))                                \
    X(clCreateProgramWithSource, Program, (Context, Uint, const char **, const size_t *, Int *))             \
    X(clCreateProgramWithBinary, Program,                                                                    \
      (Context, Uint, const Device *, const size_t *, const unsigned char **, Int *, Int *))                 \
    X(clSetProgramSpecializationConstant, Int, (Program, Uint, size_t, const void *))                        \
    X(clBuildProgram, Int, (Program, Uint, const Device *, const char *, void (*)(Program, void *), void *)) \
    X(clCompileProgram, Int,                                                                                 \
      (Program, Uint, const Device *, const char *, Uint, const Program *, const char **,                    \
       void (*)(Program, void *), void *))                                                                   \
    X(clLinkProgram, Program,                                                                                \
      (Context, Uint, const Device *, const char *, Uint, const Program *, void (*)(Program, void *),        \
       void *, Int *))                                                                                       \
    X(clGetProgramInfo, Int, (Program, Uint, size_t, void *, size_t *))                                      \
    X(clGetProgramBuildInfo, Int, (Program, Device, Uint, size_t, void *, size_t *))                         \
    X(clGetDeviceGlobalVariablePointerINTEL, Int, (Device, Program, const char *, size_t *, void **))        \
    X(clGetDeviceFunctionPointerINTEL, Int, (Device, Program, const char *, Ulong *))                        \
    X(clReleaseProgram, Int, (Program))                                                                      \
    X(clCreateKernel, Kernel, (Program, const char *, Int *))                                                \
    X(clReleaseKernel, Int, (Kernel))                                                                        \
    X(clSetKernelArg, Int, (Kernel, Uint, size_t, const void *))                                             \
    X(clGetKernelWorkGroupInfo, Int, (Kernel, Device, Uint, size_t, void *, size_t *))                       \
    X(clGetKernelSubGroupInfo, Int, (Kernel, Device, Uint, size_t, const void *, size_t, void *, size_t *))  \
    X(clEnqueueNDRangeKernel, Int,                                                                           \
      (Queue, Kernel, Uint, const size_t *, const size_t *, const size_t *, Uint, const Event *, Event *))   \
    X(clEnqueueNativeKernel, Int,                                                                            \
      (Queue, void (*)(void *), void *, size_t, Uint, const void *, const void **, Uint, const Event *,      \
       Event *))                                                                                             \
    X(clCreateBuffer, Mem, (Context, Ulong, size_t, void *, Int *))                                          \
    X(clCreateImage, Mem, (Context, Ulong, const ImageFormat *, const ImageDesc *, void *, Int *))           \
    X(clReleaseMemObject, Int, (Mem))                                                                        \
    X(clGetMemObjectInfo, Int, (Mem, Uint, size_t, void *, size_t *))                                        \
    X(clGetImageInfo, Int, (Mem, Uint, size_t, void *, size_t *))                                            \
    X(clGetSupportedImageFormats, Int, (Context, Ulong, Uint, Uint, ImageFormat *, Uint *))                  \
    X(clCreateSamplerWithProperties, Sampler, (Context, const Ulong *, Int *))                               \
    X(clReleaseSampler, Int, (Sampler))                                                                      \
    X(clEnqueueCopyImage, Int,                                                                               \
      (Queue, Mem, Mem, const size_t *, const size_t *, const size_t *, Uint, const Event *, Event *))       \
    X(clEnqueueReadImage, Int,                                                                               \
      (Queue, Mem, Bool, const size_t *, const size_t *, size_t, size_t, void *, Uint, const Event *,        \
       Event *))                                                                                             \
    X(clEnqueueWriteImage, Int,                                                                              \
      (Queue, Mem, Bool, const size_t *, const size_t *, size_t, size_t, const void *, Uint, const Event *,  \
       Event *))                                                                                             \
    X(clEnqueueMarkerWithWaitList, Int, (Queue, Uint, const Event *, Event *))                               \
    X(clWaitForEvents, Int, (Uint, const Event *))                                                           \
    X(clGetEventInfo, Int, (Event, Uint, size_t, void *, size_t *))                                          \
    X(clGetEventProfilingInfo, Int, (Event, Uint, size_t, void *, size_t *))                                 \
    X(clRetainEvent, Int, (Event))                                                                           \
    X(clReleaseEvent, Int, (Event))

/// The runtime's functions, filled by opencl_loader.cpp.
struct Api {
#define ZE_CPU_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
    ZE_CPU_OPENCL_FUNCTIONS(ZE_CPU_DECLARE)
#undef ZE_CPU_DECLARE
    // cl_intel_unified_shared_memory; asked from the platform, not exported.
    Int (*clSetKernelArgMemPointerINTEL)(Kernel, Uint, const void *) = nullptr;
};

} // namespace ze_cpu::cl
