/* SPDX-License-Identifier: Apache-2.0 */
/* The zemm C API: matmul, inner product, reorder and dynamic_quantize primitives in oneDNN's style on Level
 * Zero devices.
 *
 * Each function has the name (with the prefix zemm_ instead of dnnl_), the order of arguments and
 * the rules of the oneDNN 3.14 function. A function that fails returns the status, leaves its
 * outputs untouched and explains the failure in zemm_last_error(). A status named in a comment
 * below, such as "invalid_arguments: ...", is the one returned in the case that follows it.
 *
 * Objects do not change after creation, except the data handles of memories, attributes and
 * post-ops. Several threads may use one object at the same time, but only one thread at a time may
 * use a stream. */
#ifndef ZEMM_H
#define ZEMM_H

#include "zemm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ZEMM_API
#else
/* The library exports these functions. */
#define ZEMM_API __attribute__((visibility("default")))
#endif

/* ---- Service ---- */

/* The sentence that explains the last failure on the calling thread, "" if there was none. It names
 * the argument and its value. The pointer is valid until the thread calls zemm again. */
const char ZEMM_API *zemm_last_error(void);

/* The version of the library. The struct lives as long as the process. */
const zemm_version_t ZEMM_API *zemm_version(void);

/* Sets what the library logs on stdout. level 0: nothing; 1: errors, warnings and executions; 2: these
 * and the creation of primitives. Any other level: invalid_arguments. The environment variable
 * ZEMM_VERBOSE sets the log at the start. It is a comma-separated list of none, error, warn,
 * check, dispatch, profile_create, profile_exec, profile, plan, all (all but plan), 0, 1 and 2. */
zemm_status_t ZEMM_API zemm_set_verbose(int level);

/* How many primitives the process keeps for reuse; 0 turns the cache off, a negative capacity is
 * invalid_arguments. When the cache is full, the least recently used primitive leaves it. The
 * environment variable ZEMM_PRIMITIVE_CACHE_CAPACITY sets the capacity at the start; its default is
 * 1024. */
zemm_status_t ZEMM_API zemm_get_primitive_cache_capacity(int *capacity);
zemm_status_t ZEMM_API zemm_set_primitive_cache_capacity(int capacity);

/* An extension of zemm: the most threads of the CPU device that compute at the same time, the one that waits
 * for them included; 0 means one for each CPU that the process may use, which is the default. With 1 an
 * execution runs on the thread that calls it, and is over on return. The environment variable
 * ZEMM_NUM_THREADS sets the number at the start. Both functions open the CPU device.
 * invalid_arguments: a negative number, or no CPU device. unimplemented: the device is not of zemm's
 * driver. */
zemm_status_t ZEMM_API zemm_get_num_threads(int *num_threads);
zemm_status_t ZEMM_API zemm_set_num_threads(int num_threads);

/* An extension of zemm: the absolute path of the folder on disk that keeps built kernels, as the
 * environment variables ZEMM_CACHE, ZEMM_CACHE_DIR, XDG_CACHE_HOME and HOME name it now. Makes the
 * folder. (A process uses the folder that they named when it first needed a kernel.) *size is the
 * room in folder before the call and the characters of the path after it, without a 0 at the end; if
 * folder is NULL, only *size is written.
 * invalid_arguments: kernels are not kept, because ZEMM_CACHE is 0, no variable names a folder, it
 * cannot be made, or other users may write to it. */
zemm_status_t ZEMM_API zemm_get_cache_folder(size_t *size, char *folder);

/* The fpmath mode that new attributes start with. The environment variable ZEMM_DEFAULT_FPMATH_MODE
 * (such as bf16) sets it for the process; without it the mode is strict. */
zemm_status_t ZEMM_API zemm_get_default_fpmath_mode(zemm_fpmath_mode_t *mode);
zemm_status_t ZEMM_API zemm_set_default_fpmath_mode(zemm_fpmath_mode_t mode);

/* Names of enum values without their prefix, such as "success", "f8_e5m2" or "eltwise_relu". The
 * name of a value that the enum does not have begins with "unknown". */
const char ZEMM_API *zemm_status2str(zemm_status_t v);
const char ZEMM_API *zemm_dt2str(zemm_data_type_t v);
const char ZEMM_API *zemm_fmt_kind2str(zemm_format_kind_t v);
const char ZEMM_API *zemm_fmt_tag2str(zemm_format_tag_t v);
const char ZEMM_API *zemm_sparse_encoding2str(zemm_sparse_encoding_t v);
const char ZEMM_API *zemm_engine_kind2str(zemm_engine_kind_t v);
const char ZEMM_API *zemm_fpmath_mode2str(zemm_fpmath_mode_t v);
const char ZEMM_API *zemm_accumulation_mode2str(zemm_accumulation_mode_t v);
const char ZEMM_API *zemm_scratchpad_mode2str(zemm_scratchpad_mode_t v);
const char ZEMM_API *zemm_rounding_mode2str(zemm_rounding_mode_t v);
const char ZEMM_API *zemm_quantization_mode2str(zemm_quantization_mode_t v);
const char ZEMM_API *zemm_prop_kind2str(zemm_prop_kind_t v);
const char ZEMM_API *zemm_prim_kind2str(zemm_primitive_kind_t v);
const char ZEMM_API *zemm_alg_kind2str(zemm_alg_kind_t v);
/* The names of the ZEMM_RUNTIME_... constants. */
const char ZEMM_API *zemm_runtime2str(unsigned v);

/* ---- Engine ---- */

/* The number of devices of a kind. It is 0 when the Level Zero loader, the driver or the OpenCL CPU
 * runtime is missing. It is 0, too, when the search for devices failed: zemm_last_error() then says
 * why, and the next call searches again. */
size_t ZEMM_API zemm_engine_get_count(zemm_engine_kind_t kind);

/* zemm_gpu: the index-th GPU that the Level Zero loader reports. zemm_cpu: a Level Zero device of
 * type CPU, from the loader if it reports one, else from the libze_cpu.so beside this library.
 * invalid_arguments: engine is NULL, kind is unknown or index is not below the count; if the count
 * is 0, zemm_last_error() says what to install. out_of_memory, runtime_error: the driver failed;
 * the next call tries again. */
zemm_status_t ZEMM_API zemm_engine_create(zemm_engine_t *engine, zemm_engine_kind_t kind, size_t index);
/* The kind that the engine was created with. */
zemm_status_t ZEMM_API zemm_engine_get_kind(zemm_engine_t engine, zemm_engine_kind_t *kind);
/* The name of the device, as its driver reports it. The text lives as long as the engine. */
zemm_status_t ZEMM_API zemm_engine_get_name(zemm_engine_t engine, const char **name);
/* The optional instructions that kernels may use on the device, as a comma-separated list: avx2,
 * avx_vnni (vpdpbusd on 256 bits), avx512, avx512_vnni, avx512_bf16, amx_int8, amx_bf16 (if the
 * process may use tiles), dp4a, xmx (DPAS), block_2d (2-D block loads) and tf32. The CPU device has
 * the last four in software. Features in the environment variable ZEMM_DEVICE_MASK are left out. The
 * text lives as long as the engine. */
zemm_status_t ZEMM_API zemm_engine_get_features(zemm_engine_t engine, const char **features);
/* The properties of a GPU, as
 * "family=xe_hpc,name=Xe-HPC,ip=12.60,xe_cores=8,xves_per_core=8,sub_group=16,..."; "" for a CPU.
 * family is unknown, older, xe_lp, xe_hpg, xe_hpc, xe2 or xe3; sub_group is the number of
 * work-items. These keys follow where they apply and are known:
 *   xmx_int8_ops, xmx_f16_ops: operations of the matrix engine per clock and XVE
 *   grf_bytes: bytes of a register
 *   threads_128, threads_256: threads of an XVE if each has 128, or 256, registers
 *   slm_per_core, slm_per_group, l1_per_core, l2_bytes: bytes
 *   clock_mhz
 *   memory_bytes, max_alloc_bytes: bytes of the device's memory, and of the largest allocation
 * ZEMM_DEVICE_MASK has no influence on this text, which lives as long as the engine. */
zemm_status_t ZEMM_API zemm_engine_get_model(zemm_engine_t engine, const char **model);
/* Measures the device's highest rate, in operations or bytes per second, with kernels that do
 * nothing else. The value is the best of several runs by the device's timestamps. The call takes
 * well under a second; nothing else should run on the device meanwhile. unimplemented: the device
 * lacks the instructions that the kernel uses, or has them in software; or it is a GPU, of which only DPAS
 * is measured. */
zemm_status_t ZEMM_API zemm_engine_measure_peak(zemm_engine_t engine, zemm_peak_t what, double *value);
/* Objects made on the engine stay usable afterwards and may be destroyed in any order. */
zemm_status_t ZEMM_API zemm_engine_destroy(zemm_engine_t engine);

/* ---- Stream ---- */

/* flags: values of zemm_stream_flags_t, or-ed. invalid_arguments: flags is 0, or has out_of_order
 * together with in_order or with profiling. */
zemm_status_t ZEMM_API zemm_stream_create(zemm_stream_t *stream, zemm_engine_t engine, unsigned flags);
/* A stream of a CPU whose work the threads of the program do, as far as kernels allow it: all matmuls,
 * packing of weights and quantisation do. An execution has done its work when it returns. Programs that have
 * threads of their own, which would hold up zemm's or be held up by them, lend these. threadpool: copied; its
 * functions are called until the stream is destroyed, and must not use zemm. oneDNN's function takes an
 * object of C++. invalid_arguments: NULL, an engine of a GPU. unimplemented: the device is not of zemm's
 * driver. */
zemm_status_t ZEMM_API zemm_threadpool_interop_stream_create(zemm_stream_t *stream, zemm_engine_t engine,
                                                             const zemm_threadpool_t *threadpool);
/* The engine that the stream was created on. */
zemm_status_t ZEMM_API zemm_stream_get_engine(const struct zemm_stream *stream, zemm_engine_t *engine);
/* Returns when everything submitted to the stream has run. The only cancellation point of the
 * library: pthread_cancel() may end the thread here, and all objects stay usable. In other
 * functions a cancellation waits until the function returns. */
zemm_status_t ZEMM_API zemm_stream_wait(zemm_stream_t stream);
/* Work that was submitted to the stream still runs to its end. */
zemm_status_t ZEMM_API zemm_stream_destroy(zemm_stream_t stream);

/* Forgets the execution times kept so far, after waiting for the stream. invalid_arguments: the
 * stream was created without zemm_stream_profiling. */
zemm_status_t ZEMM_API zemm_reset_profiling(zemm_stream_t stream);
/* Waits for the stream, then writes the device time of each execution since the last reset to data,
 * in order of submission: nanoseconds, from event timestamps. *num_entries is the room in data
 * before the call and the number of times after it; if data is NULL, only the number is written.
 * unimplemented: kind is cycles. invalid_arguments: too little room, another kind, or a stream
 * without zemm_stream_profiling. runtime_error: the device keeps no timestamps. */
zemm_status_t ZEMM_API zemm_query_profiling_data(zemm_stream_t stream, zemm_profiling_data_kind_t kind,
                                                 int *num_entries, uint64_t *data);

/* ---- Memory descriptor ---- */

/* A layout by strides, in elements; NULL means dense row-major. ndims 0 makes a zero descriptor. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_strides(zemm_memory_desc_t *md, int ndims,
                                                            const zemm_dims_t dims,
                                                            zemm_data_type_t data_type,
                                                            const zemm_dims_t strides);
/* A layout by its tag. zemm_format_tag_any leaves the choice to the primitive. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_tag(zemm_memory_desc_t *md, int ndims,
                                                        const zemm_dims_t dims, zemm_data_type_t data_type,
                                                        zemm_format_tag_t tag);
/* A layout by the text of its tag, which may be any permutation ("cabde") and any blocked layout
 * ("BA16a64b4a"). */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_string_tag(zemm_memory_desc_t *md, int ndims,
                                                               const zemm_dims_t dims,
                                                               zemm_data_type_t data_type, const char *tag);
/* A sparse matrix in compressed rows, with nnz values. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_csr_encoding(zemm_memory_desc_t *md, int ndims,
                                                                 const zemm_dims_t dims,
                                                                 zemm_data_type_t data_type, zemm_dim_t nnz,
                                                                 zemm_data_type_t indices_dt,
                                                                 zemm_data_type_t pointers_dt);
/* A sparse matrix in coordinates, with nnz values. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_coo_encoding(zemm_memory_desc_t *md, int ndims,
                                                                 const zemm_dims_t dims,
                                                                 zemm_data_type_t data_type, zemm_dim_t nnz,
                                                                 zemm_data_type_t indices_dt);
/* Packed sparse weights: an s8 tensor of which nnz values are not 0. A matmul chooses their layout, as for
 * tag any: memories have the descriptor that its zemm_query_weights_md gives. A reorder writes them. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_packed_encoding(zemm_memory_desc_t *md, int ndims,
                                                                    const zemm_dims_t dims,
                                                                    zemm_data_type_t data_type,
                                                                    zemm_dim_t nnz);
/* group_count groups of different lengths along the dimension variable_dim_idx, which offsets
 * separate. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_grouped_encoding(
    zemm_memory_desc_t *md, int ndims, const zemm_dims_t dims, zemm_data_type_t data_type,
    int variable_dim_idx, zemm_dim_t group_count, zemm_data_type_t offsets_dt);
/* One value that zemm_memory_create_host_scalar() keeps on the host. */
zemm_status_t ZEMM_API zemm_memory_desc_create_host_scalar(zemm_memory_desc_t *md,
                                                           zemm_data_type_t data_type);
/* Describes the part of parent that begins at offsets and has the size dims (both in elements, one
 * number per dimension). In a blocked layout each offset is a multiple of the block, and each dim
 * is a multiple of the block, smaller than one block, or reaches the parent's end; else
 * unimplemented. A part that reaches the parent's end in a dimension includes the padding there;
 * otherwise its padded_dims equals dims. */
zemm_status_t ZEMM_API zemm_memory_desc_create_submemory(zemm_memory_desc_t *md,
                                                         const_zemm_memory_desc_t parent,
                                                         const zemm_dims_t dims, const zemm_dims_t offsets);
/* The descriptor that zemm_memory_desc_get_blob() has written. */
zemm_status_t ZEMM_API zemm_memory_desc_create_with_blob(zemm_memory_desc_t *md, const uint8_t *blob);
/* The descriptor as bytes. *size is the room in blob before the call and the bytes of the blob
 * after it; if blob is NULL, only *size is written. */
zemm_status_t ZEMM_API zemm_memory_desc_get_blob(uint8_t *blob, size_t *size, const_zemm_memory_desc_t md);
/* A copy of the descriptor. */
zemm_status_t ZEMM_API zemm_memory_desc_clone(zemm_memory_desc_t *md, const_zemm_memory_desc_t existing);
/* Objects that were made from the descriptor have copies of it. */
zemm_status_t ZEMM_API zemm_memory_desc_destroy(zemm_memory_desc_t md);
/* A descriptor of the same bytes with other dims. The product of the dims must not change. */
zemm_status_t ZEMM_API zemm_memory_desc_reshape(zemm_memory_desc_t *out, const_zemm_memory_desc_t in,
                                                int ndims, const zemm_dims_t dims);
/* permutation[i]: the new position of dimension i. */
zemm_status_t ZEMM_API zemm_memory_desc_permute_axes(zemm_memory_desc_t *out, const_zemm_memory_desc_t in,
                                                     const int *permutation);
/* Changes the data type of the descriptor; its dimensions and strides stay. */
zemm_status_t ZEMM_API zemm_memory_desc_set_data_type(zemm_memory_desc_t md, zemm_data_type_t data_type);
/* Writes the answer to *result, whose type zemm_query_t names beside each query. */
zemm_status_t ZEMM_API zemm_memory_desc_query(const_zemm_memory_desc_t md, zemm_query_t what, void *result);
/* The same, of the index-th buffer of a sparse descriptor. */
zemm_status_t ZEMM_API zemm_memory_desc_query_v2(const_zemm_memory_desc_t md, zemm_query_t what, int index,
                                                 void *result);
/* 1 if the descriptors are equal, else 0. */
int ZEMM_API zemm_memory_desc_equal(const_zemm_memory_desc_t a, const_zemm_memory_desc_t b);
/* The bytes that a buffer for the descriptor needs: 0 for format any or an empty tensor,
 * ZEMM_RUNTIME_SIZE_VAL if a dimension, stride or offset is known at execution only. index: which
 * buffer of a sparse descriptor. */
size_t ZEMM_API zemm_memory_desc_get_size(const_zemm_memory_desc_t md);
size_t ZEMM_API zemm_memory_desc_get_size_v2(const_zemm_memory_desc_t md, int index);
/* The bytes of one element; 1 for 4-bit types, 0 for undef. */
size_t ZEMM_API zemm_data_type_size(zemm_data_type_t data_type);

/* ---- Memory ---- */

/* handle: a USM pointer of the engine's context (on a CPU device any host pointer),
 * ZEMM_MEMORY_NONE, or ZEMM_MEMORY_ALLOCATE for a buffer that the library owns. A buffer of the
 * caller's must stay allocated as long as the memory and submitted work use it. */
zemm_status_t ZEMM_API zemm_memory_create(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                          zemm_engine_t engine, void *handle);
/* Makes a memory of several buffers: one handle for each of the nhandles buffers of a sparse descriptor. */
zemm_status_t ZEMM_API zemm_memory_create_v2(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                             zemm_engine_t engine, int nhandles, void **handles);
/* value: one element of the descriptor's data type, which the function copies. */
zemm_status_t ZEMM_API zemm_memory_create_host_scalar(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                                      void *value);
/* The descriptor of the memory. It lives as long as the memory. */
zemm_status_t ZEMM_API zemm_memory_get_memory_desc(const_zemm_memory_t memory, const_zemm_memory_desc_t *md);
/* Writes NULL for a host scalar, which belongs to no engine. */
zemm_status_t ZEMM_API zemm_memory_get_engine(const_zemm_memory_t memory, zemm_engine_t *engine);
/* Gives a host pointer to the contents: to the buffer itself, or to a copy where the host cannot
 * read the buffer. Call zemm_stream_wait() before, as mapping does not wait. Unmapping writes a
 * copy back; on a CPU engine it does nothing with the pointer. A host scalar gives a pointer to its
 * value. */
zemm_status_t ZEMM_API zemm_memory_map_data(const_zemm_memory_t memory, void **mapped_ptr);
zemm_status_t ZEMM_API zemm_memory_unmap_data(const_zemm_memory_t memory, void *mapped_ptr);
zemm_status_t ZEMM_API zemm_memory_map_data_v2(const_zemm_memory_t memory, void **mapped_ptr, int index);
zemm_status_t ZEMM_API zemm_memory_unmap_data_v2(const_zemm_memory_t memory, void *mapped_ptr, int index);
/* The handle that the memory was created with, and another one in its place. The functions that
 * end in _v2 are for the index-th buffer of a sparse memory. */
zemm_status_t ZEMM_API zemm_memory_get_data_handle(const_zemm_memory_t memory, void **handle);
zemm_status_t ZEMM_API zemm_memory_set_data_handle(zemm_memory_t memory, void *handle);
zemm_status_t ZEMM_API zemm_memory_get_data_handle_v2(const_zemm_memory_t memory, void **handle, int index);
zemm_status_t ZEMM_API zemm_memory_set_data_handle_v2(zemm_memory_t memory, void *handle, int index);
/* Reads or replaces the value of a host scalar: one element of its data type. */
zemm_status_t ZEMM_API zemm_memory_get_host_scalar_value(const_zemm_memory_t memory, void *value);
zemm_status_t ZEMM_API zemm_memory_set_host_scalar_value(zemm_memory_t memory, const void *value);
/* A buffer that the library allocated is freed only after the work submitted with it has run. The
 * same holds when the memory gets another handle. */
zemm_status_t ZEMM_API zemm_memory_destroy(zemm_memory_t memory);

/* ---- Attributes ---- */

/* Attributes with their default values. */
zemm_status_t ZEMM_API zemm_primitive_attr_create(zemm_primitive_attr_t *attr);
/* A copy of the attributes. */
zemm_status_t ZEMM_API zemm_primitive_attr_clone(zemm_primitive_attr_t *attr,
                                                 const_zemm_primitive_attr_t existing);
/* Descriptors that were made with the attributes have copies of them. */
zemm_status_t ZEMM_API zemm_primitive_attr_destroy(zemm_primitive_attr_t attr);

/* To which types f32 values may be converted before they are multiplied. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_fpmath_mode(const_zemm_primitive_attr_t attr,
                                                           zemm_fpmath_mode_t *mode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_fpmath_mode(zemm_primitive_attr_t attr,
                                                           zemm_fpmath_mode_t mode);
/* The fpmath mode, and whether it also holds for integers. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_fpmath_mode_v2(const_zemm_primitive_attr_t attr,
                                                              zemm_fpmath_mode_t *mode, int *apply_to_int);
/* apply_to_int 1: the mode also holds for integer weights beside a floating-point src, where they
 * become floats. Scales of such weights that change along K need this, and zero points of groups
 * along N. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_fpmath_mode_v2(zemm_primitive_attr_t attr,
                                                              zemm_fpmath_mode_t mode, int apply_to_int);
/* 1: results have the same bits in each run, and with any number of threads. Without it they have the
 * same bits as long as the number of threads stays. Matmuls of few rows and columns may then use fewer
 * threads. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_deterministic(const_zemm_primitive_attr_t attr, int *value);
zemm_status_t ZEMM_API zemm_primitive_attr_set_deterministic(zemm_primitive_attr_t attr, int value);
/* Which type sums may have. In every mode zemm's are f32, and s32 of integers. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_accumulation_mode(const_zemm_primitive_attr_t attr,
                                                                 zemm_accumulation_mode_t *mode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_accumulation_mode(zemm_primitive_attr_t attr,
                                                                 zemm_accumulation_mode_t mode);
/* Who provides the scratchpad: by default the library. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_scratchpad_mode(const_zemm_primitive_attr_t attr,
                                                               zemm_scratchpad_mode_t *mode);
/* zemm_scratchpad_mode_user: the caller passes the scratchpad at execution, as ZEMM_ARG_SCRATCHPAD.
 * Query zemm_query_scratchpad_md for its size; its address needs no alignment. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_scratchpad_mode(zemm_primitive_attr_t attr,
                                                               zemm_scratchpad_mode_t mode);
/* How the values of an argument are rounded to its data type. Stochastically (a floating-point dst; one
 * of f32 has nothing to round): random bits are added below the digits that the type keeps, and the rest
 * is cut off. The random number of an element depends on its place in dst's memory and on the seed,
 * ZEMM_ARG_ATTR_ROUNDING_SEED (s32, one element). The generator is oneDNN's, Philox4x32-10. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_rounding(zemm_primitive_attr_t attr, int arg,
                                                        zemm_rounding_mode_t *mode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_rounding(zemm_primitive_attr_t attr, int arg,
                                                        zemm_rounding_mode_t mode);
/* Dropout, after the bias and before post-ops: an element becomes 0 with a probability, and else is
 * divided by 1 minus the probability. Arguments of an execution, of one element each or host scalars
 * (use_host_scalars): ZEMM_ARG_ATTR_DROPOUT_PROBABILITY (f32, from 0 to 1), _SEED (seed_dt: s32 or s64)
 * and, with use_offset, _OFFSET (s64). Unless mask_desc is a zero descriptor, the execution writes
 * ZEMM_ARG_ATTR_DROPOUT_MASK: u8 with the dims of dst, 1 for elements that are kept, else 0. The random
 * number of an element depends on its place in dst's memory, on the seed and on the offset (oneDNN's
 * generator, Philox4x32-10). */
zemm_status_t ZEMM_API zemm_primitive_attr_get_dropout(const_zemm_primitive_attr_t attr,
                                                       const_zemm_memory_desc_t *mask_desc);
zemm_status_t ZEMM_API zemm_primitive_attr_set_dropout(zemm_primitive_attr_t attr,
                                                       const_zemm_memory_desc_t mask_desc);
zemm_status_t ZEMM_API zemm_primitive_attr_get_dropout_v2(const_zemm_primitive_attr_t attr,
                                                          const_zemm_memory_desc_t *mask_desc,
                                                          zemm_data_type_t *seed_dt, int *use_offset,
                                                          int *use_host_scalars);
zemm_status_t ZEMM_API zemm_primitive_attr_set_dropout_v2(zemm_primitive_attr_t attr,
                                                          const_zemm_memory_desc_t mask_desc,
                                                          zemm_data_type_t seed_dt, int use_offset,
                                                          int use_host_scalars);

/* Scales and zero points of the argument arg. The parameter tensor is dense and row-major. Its
 * dimension d is that of the argument if bit d of mask is set, else 1. With group_ndims 2,
 * group_dims gives the group sizes of the last two dimensions, and these dimensions of the
 * parameter tensor are divided by them and rounded up; group_ndims 0 means no groups. data_type: f32, f16,
 * bf16, e8m0 or f8_e4m3 for scales; s32, s8, u8 or an integer of fewer bits for zero points. is_on_host 1:
 * the parameter is one value in a host scalar memory (mask 0, no groups). invalid_arguments: a rule of this
 * comment is broken. Whether a primitive takes the parameters is checked when its descriptor is created. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales_mask(zemm_primitive_attr_t attr, int arg, int mask);
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales(zemm_primitive_attr_t attr, int arg, int mask,
                                                      int group_ndims, const zemm_dims_t group_dims,
                                                      zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales_v2(zemm_primitive_attr_t attr, int arg, int mask,
                                                         int group_ndims, const zemm_dims_t group_dims,
                                                         zemm_data_type_t data_type, int is_on_host);
zemm_status_t ZEMM_API zemm_primitive_attr_set_scales_v3(zemm_primitive_attr_t attr, int arg, int mask,
                                                         int group_ndims, const zemm_dims_t group_dims,
                                                         zemm_data_type_t data_type, int is_on_host,
                                                         zemm_quantization_mode_t qmode);
zemm_status_t ZEMM_API zemm_primitive_attr_set_zero_points_mask(zemm_primitive_attr_t attr, int arg,
                                                                int mask);
zemm_status_t ZEMM_API zemm_primitive_attr_set_zero_points(zemm_primitive_attr_t attr, int arg, int mask,
                                                           int group_ndims, const zemm_dims_t group_dims,
                                                           zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_primitive_attr_set_zero_points_v2(zemm_primitive_attr_t attr, int arg, int mask,
                                                              int group_ndims, const zemm_dims_t group_dims,
                                                              zemm_data_type_t data_type, int is_on_host);

/* An extension of zemm: offsets of integer weights, which are then scale * value + offset, as the minimums
 * of GGUF and the zero points of HQQ and torchao are. arg is ZEMM_ARG_WEIGHTS, data_type is f16, bf16 or
 * f32; mask and groups are those of the weights' zero points. The values are passed at execution as
 * ZEMM_ARG_ATTR_OFFSETS | ZEMM_ARG_WEIGHTS. An integer src may have precomputed reductions with them.
 * The matmul's descriptor refuses offsets beside zero points of the weights: an offset can include these
 * (offset - scale * zero point). */
zemm_status_t ZEMM_API zemm_primitive_attr_set_offsets(zemm_primitive_attr_t attr, int arg, int mask,
                                                       int group_ndims, const zemm_dims_t group_dims,
                                                       zemm_data_type_t data_type);

/* An extension of zemm: scales, and offsets, of weights in two levels, as the K-quants of GGUF have them.
 * With factors, scales are s8 or u8, and each is multiplied by the factor of its group; so are offsets. arg
 * is ZEMM_ARG_WEIGHTS, data_type is f16, bf16 or f32. The scales (offsets) have every bit of the mask in
 * theirs, too. A group of K is a multiple of theirs, or all of K. Factors are set first: without them the
 * setters of scales and offsets refuse integers. They are passed at execution as
 * ZEMM_ARG_ATTR_SCALE_FACTORS | ZEMM_ARG_WEIGHTS and ZEMM_ARG_ATTR_OFFSET_FACTORS | ZEMM_ARG_WEIGHTS.
 * unimplemented, when the matmul's descriptor is created: the scales have all of K as one group. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_scale_factors(zemm_primitive_attr_t attr, int arg, int mask,
                                                             int group_ndims, const zemm_dims_t group_dims,
                                                             zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_primitive_attr_set_offset_factors(zemm_primitive_attr_t attr, int arg, int mask,
                                                              int group_ndims, const zemm_dims_t group_dims,
                                                              zemm_data_type_t data_type);

/* Announces that the caller passes the sums of the integer src over groups along K, for example
 * because it computed them when it quantised src. With them zero points of weights cost nothing in
 * the K loop. Source: oneDNN RFC "User's Precomputed Reductions for GeMM".
 *
 * The sums are passed at execution as ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC, an s32
 * tensor of the shape [..., M, K / group_dims[1]], rounded up. arg is ZEMM_ARG_SRC, data_type is s32, and
 * group_dims[0] is 1. The matmul's descriptor checks the rest: mask has every dimension of src,
 * weights have zero points or offsets, and group_dims[1] divides the K group of every scale and zero point
 * that has several groups.
 *
 * An extension of zemm: with arg ZEMM_ARG_DST a reorder that quantises writes the sums of dst. They
 * are set after the dynamic scales of dst. invalid_arguments, as in oneDNN: without these. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_precomputed_reductions(zemm_primitive_attr_t attr, int arg,
                                                                      int mask, int group_ndims,
                                                                      const zemm_dims_t group_dims,
                                                                      zemm_data_type_t data_type);

/* An extension of zemm: 1 says that values of an 8-bit argument have 7 bits, -64 to 63 of s8 and 0 to 127 of
 * u8 ("reduce_range" elsewhere). CPUs that have AVX2 without VNNI multiply these with fewer instructions.
 * With other values in its memory a matmul computes wrong numbers, and nothing else happens. arg:
 * ZEMM_ARG_SRC of a matmul, or ZEMM_ARG_DST of a reorder with dynamic scales, which quantises to this range
 * then. invalid_arguments: another arg. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_reduced_range(const_zemm_primitive_attr_t attr, int arg,
                                                             int *value);
zemm_status_t ZEMM_API zemm_primitive_attr_set_reduced_range(zemm_primitive_attr_t attr, int arg, int value);

/* An extension of zemm, experimental: a matmul by integer weights quantises its f32, f16 or bf16 src to s8
 * before it multiplies. Each group of group_size elements along K gets a scale, amax / 127, in f32; the last
 * group of a row may be shorter, and a larger group_size means all of a row. The result is that of
 * zemm_dynamic_quantize_primitive_desc_create() and a matmul of its outputs, bit by bit, without their
 * memories; with one row on a CPU the matmul's own launch quantises. Weights may have zero points or
 * offsets, whose sums of src are computed on the way; a reduced range of src quantises to 7 bits, with amax
 * / 63. 0, the default: src is not quantised. The name is that of OpenVINO's fork of oneDNN.
 * invalid_arguments: group_size is negative. When a matmul is created: invalid_arguments if src has scales,
 * zero points or precomputed reductions, too; unimplemented if src or weights have other types, or if the
 * matmul is grouped. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_src_dyn_quant_params(const_zemm_primitive_attr_t attr,
                                                                    zemm_dim_t *group_size);
zemm_status_t ZEMM_API zemm_primitive_attr_set_src_dyn_quant_params(zemm_primitive_attr_t attr,
                                                                    zemm_dim_t group_size);

/* An extension of zemm: 1 says that values that are too large for dst become its largest value, with their
 * sign, in place of infinity (f8_e5m2) or NaN (f8_e4m3). NaN stays. f4_e2m1 and integers saturate without it,
 * and so do results of dynamic scales. The default is 0, as in oneDNN. For dst of f8 or f4, of a matmul or a
 * reorder; unimplemented when another primitive descriptor is created. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_saturation(const_zemm_primitive_attr_t attr, int *value);
zemm_status_t ZEMM_API zemm_primitive_attr_set_saturation(zemm_primitive_attr_t attr, int value);

/* The list of the attributes. It lives as long as they do. */
zemm_status_t ZEMM_API zemm_primitive_attr_get_post_ops(const_zemm_primitive_attr_t attr,
                                                        const_zemm_post_ops_t *post_ops);
/* Copies the list. */
zemm_status_t ZEMM_API zemm_primitive_attr_set_post_ops(zemm_primitive_attr_t attr,
                                                        const_zemm_post_ops_t post_ops);

/* ---- Post-ops ----
 *
 * A list has up to 32 post-ops. They are applied in their order to the f32 result x, before the
 * scale of dst. The tensors of post-op number index are arguments
 * ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index) | ..., as named below. */

/* A list without post-ops. */
zemm_status_t ZEMM_API zemm_post_ops_create(zemm_post_ops_t *post_ops);
/* A copy of the list. */
zemm_status_t ZEMM_API zemm_post_ops_clone(zemm_post_ops_t *post_ops, const_zemm_post_ops_t existing);
/* Attributes that were given the list have a copy of it. */
zemm_status_t ZEMM_API zemm_post_ops_destroy(zemm_post_ops_t post_ops);
/* The number of post-ops. */
int ZEMM_API zemm_post_ops_len(const_zemm_post_ops_t post_ops);
/* The kind of the post-op at this index: zemm_sum, zemm_eltwise, zemm_binary or zemm_prelu. */
zemm_primitive_kind_t ZEMM_API zemm_post_ops_get_kind(const_zemm_post_ops_t post_ops, int index);
/* x + scale * (old dst - zero_point). The old dst is read as data_type; undef means dst's type. */
zemm_status_t ZEMM_API zemm_post_ops_append_sum(zemm_post_ops_t post_ops, float scale, int32_t zero_point,
                                                zemm_data_type_t data_type);
zemm_status_t ZEMM_API zemm_post_ops_get_params_sum(const_zemm_post_ops_t post_ops, int index, float *scale,
                                                    int32_t *zero_point, zemm_data_type_t *data_type);
/* The formulas are oneDNN's (see "Eltwise" in its developer guide). If x is NaN, clip and clip_v2
 * give alpha, logistic gives 0, pow with beta 0 gives alpha, and all others give NaN. */
zemm_status_t ZEMM_API zemm_post_ops_append_eltwise(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                                    float alpha, float beta);
zemm_status_t ZEMM_API zemm_post_ops_get_params_eltwise(const_zemm_post_ops_t post_ops, int index,
                                                        zemm_alg_kind_t *alg, float *alpha, float *beta);
/* A depthwise convolution. Always unimplemented: it follows a convolution, and zemm has none. */
zemm_status_t ZEMM_API zemm_post_ops_append_dw(zemm_post_ops_t post_ops, zemm_data_type_t weights_dt,
                                               zemm_data_type_t bias_dt, zemm_data_type_t dst_dt,
                                               zemm_dim_t kernel, zemm_dim_t stride, zemm_dim_t padding_l);
zemm_status_t ZEMM_API zemm_post_ops_get_params_dw(const_zemm_post_ops_t post_ops, int index,
                                                   zemm_data_type_t *weights_dt, zemm_data_type_t *bias_dt,
                                                   zemm_data_type_t *dst_dt, zemm_dim_t *kernel,
                                                   zemm_dim_t *stride, zemm_dim_t *padding_l);
/* alg(x, src1). Each dimension of src1 is that of dst or 1; the argument is ... | ZEMM_ARG_SRC_1.
 * max is x > src1 ? x : src1 and min is x < src1 ? x : src1, so that both give src1 if either value
 * is NaN. src1 of binary_mul_inplace is dst as it was before the execution: src1_desc has dst's data type,
 * dims and layout, or format any, and the argument is dst's memory. */
zemm_status_t ZEMM_API zemm_post_ops_append_binary(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                                   const_zemm_memory_desc_t src1_desc);
zemm_status_t ZEMM_API zemm_post_ops_get_params_binary(const_zemm_post_ops_t post_ops, int index,
                                                       zemm_alg_kind_t *alg,
                                                       const_zemm_memory_desc_t *src1_desc);
/* src2 is the condition of binary_select: src2 != 0 ? x : src1. It is s8 or u8, and its argument is
 * ... | ZEMM_ARG_SRC_2. With any other alg src2_desc must be NULL or a zero descriptor. */
zemm_status_t ZEMM_API zemm_post_ops_append_binary_v2(zemm_post_ops_t post_ops, zemm_alg_kind_t alg,
                                                      const_zemm_memory_desc_t src1_desc,
                                                      const_zemm_memory_desc_t src2_desc);
zemm_status_t ZEMM_API zemm_post_ops_get_params_binary_v2(const_zemm_post_ops_t post_ops, int index,
                                                          zemm_alg_kind_t *alg,
                                                          const_zemm_memory_desc_t *src1_desc,
                                                          const_zemm_memory_desc_t *src2_desc);
/* x >= 0 ? x : x * slope. The slopes are an f32 tensor whose dimension d is that of dst if bit d of
 * mask is set, else 1; their argument is ... | ZEMM_ARG_WEIGHTS. */
zemm_status_t ZEMM_API zemm_post_ops_append_prelu(zemm_post_ops_t post_ops, int mask);
zemm_status_t ZEMM_API zemm_post_ops_get_params_prelu(const_zemm_post_ops_t post_ops, int index, int *mask);

/* ---- Primitive descriptor and primitive ---- */

/* dst[.., m, n] = sum over k of src[.., m, k] * weights[.., k, n], with bias, scales, zero points
 * and post-ops. bias_desc NULL means no bias. Leading dimensions are batch dimensions, and those of
 * src and weights broadcast.
 *
 * Dimensions and strides may be ZEMM_RUNTIME_DIM_VAL: M in src and dst, K in src and weights, N in
 * weights and dst, a batch dimension in all three; and in bias where it is not 1. The memories of an
 * execution then give the values. The primitive keeps how it runs the 128 shapes that it used last.
 * It builds a kernel when a shape is the first to need it, and not for another shape of the same
 * kind. If such a primitive needs a scratchpad, the library provides it in either mode.
 *
 * Groups along K may have any size, another one for each parameter. Where a group does not divide K, the
 * last one is shorter, and a group of K or more is the only one (oneDNN refuses both). Groups along N are 1,
 * N or a multiple of 16 that divides N.
 *
 * Precision with an s8 or u8 src: the sum over K is exact and is rounded to f32 once, if every zero
 * point is a value of its tensor's data type. With scales along K each group is summed so (on Intel
 * GPUs each part of a group), and the scaled sums are added in f32. An s32 dst without scales,
 * bias, post-ops and zero points of dst gets the sum modulo 2^32; that is the exact sum, whatever
 * the values, for K up to 33025 with u8 by u8 and up to 131071 with s8 by s8.
 *
 * invalid_arguments: the shapes or data types make no matmul. unimplemented: no implementation has
 * these attributes or layouts. */
zemm_status_t ZEMM_API zemm_matmul_primitive_desc_create(zemm_primitive_desc_t *pd, zemm_engine_t engine,
                                                         const_zemm_memory_desc_t src_desc,
                                                         const_zemm_memory_desc_t weights_desc,
                                                         const_zemm_memory_desc_t bias_desc,
                                                         const_zemm_memory_desc_t dst_desc,
                                                         const_zemm_primitive_attr_t attr);
/* dst[n, oc] = sum over all ic and places of src[n, ic, ..] * weights[oc, ic, ..], for programs of oneDNN. A
 * matmul computes it, whose data types, arithmetic and post-ops it has. src and weights have 2 to 5
 * dimensions, bias has one. Weights of format any get the layout that the matmul wants, if IC is a multiple
 * of its blocks. src and weights are read in one order: one of them is copied first if they lie in different
 * ones (a channels-last src beside row-major weights), or if their last dimensions are no dense row.
 * prop_kind: forward_training or forward_inference, which compute the same. Masks of scales and zero points:
 * 0, of weights also 1, a value for each oc; they need an s8 or u8 src. Groups, runtime dimensions, sparse
 * tensors, dropout and stochastic rounding are unimplemented.
 *
 * invalid_arguments: the shapes, prop_kind or data types make no inner product. unimplemented: no
 * implementation has these attributes or layouts. */
zemm_status_t ZEMM_API zemm_inner_product_forward_primitive_desc_create(
    zemm_primitive_desc_t *pd, zemm_engine_t engine, zemm_prop_kind_t prop_kind,
    const_zemm_memory_desc_t src_desc, const_zemm_memory_desc_t weights_desc,
    const_zemm_memory_desc_t bias_desc, const_zemm_memory_desc_t dst_desc, const_zemm_primitive_attr_t attr);
/* dst = (src_scale * (src - src_zp) + sum_scale * (dst - dst_zp)) / dst_scale + dst_zp, from any
 * layout and data type to any other. Values are rounded to nearest even, and integers saturate. The
 * padding of a blocked dst becomes 0. The arguments are ZEMM_ARG_FROM and ZEMM_ARG_TO; both engines
 * must be of one device. Dimensions and strides may be ZEMM_RUNTIME_DIM_VAL, as in a matmul.
 *
 * Dynamic quantisation (an extension of zemm): if the scales of dst have the quantization mode
 * dynamic_fp, the reorder computes and writes them. It takes an f32, f16 or bf16 src and an s8 or
 * u8 dst, both with stride 1 along the last dimension, and quantises each row, or each group of 1xG
 * elements of a row.
 *   s8: scale = amax / 127
 *   u8: scale = (max - min) / 255; zero points of dst are required and written, too, with the mask
 *       of the scales and without groups
 * Precomputed reductions of dst with groups 1xR are then written as well: the sums of R values of
 * dst.
 * The scales of an f8 or f4 dst are written with the modes dynamic_mx (e8m0, groups of 1x32 or 32x1) and
 * dynamic_fp (f8_e4m3, groups of 1x16 or 16x1), with the arithmetic of a matmul. src is f32, f16, bf16, f8
 * or f4; any layouts.
 *
 * Sparse tensors (csr, coo, and packed with its layout): an execution waits for earlier work, and checks a
 * sparse src's indices and the number of values of a sparse dst: nnz, or at most nnz for packed weights.
 * invalid_arguments from zemm_primitive_execute(): they are wrong; dst is unchanged.
 *
 * invalid_arguments: the descriptors or attributes make no reorder. unimplemented: zemm has no such
 * reorder. */
zemm_status_t ZEMM_API zemm_reorder_primitive_desc_create(zemm_primitive_desc_t *reorder_primitive_desc,
                                                          const_zemm_memory_desc_t src_desc,
                                                          zemm_engine_t src_engine,
                                                          const_zemm_memory_desc_t dst_desc,
                                                          zemm_engine_t dst_engine,
                                                          const_zemm_primitive_attr_t attr);
/* Experimental, by the name of oneDNN's draft (RFC "Dynamic Quant Primitive", July 2026): quantises src, an
 * f32, f16 or bf16 tensor [.., M, K] with stride 1 along K, and writes dst, of src's dims, and the scales.
 *   dynamic_quantize_symmetric: dst is s8, scale = amax / 127
 *   dynamic_quantize_asymmetric: dst is u8, scale = (max - min) / 255, and zero points are written
 * The arithmetic is that of a reorder with dynamic_fp scales of dst: a scale below 2^-14 in f16 is rounded up
 * to a multiple of 2^-24, others to nearest. The attributes may set a scratchpad mode and a reduced range of
 * dst. What shares a scale follows from the dims of scale_desc (f32, f16 or bf16, dense): src's, but the last
 * one 1 (rows) or a number that divides K (groups of a row); all 1 (the whole
 * tensor, which is dense). zero_point_desc: s32, of scale's dims; NULL if symmetric. reductions_desc: s32,
 * the sums of dst's values over each row, or over groups whose number is its last dim (an extension of zemm:
 * with them, zero points of a matmul's weights cost nothing); NULL: none are written. Arguments:
 * ZEMM_ARG_SRC, ZEMM_ARG_DST, ZEMM_ARG_DYNAMIC_SCALE, ZEMM_ARG_DYNAMIC_ZERO_POINT,
 * ZEMM_ARG_DYNAMIC_REDUCTIONS; zemm_query_dst_md answers for the last three with index 1 to 3.
 * invalid_arguments: the tensors do not belong together. unimplemented: other groups, types or layouts. */
zemm_status_t ZEMM_API zemm_dynamic_quantize_primitive_desc_create(
    zemm_primitive_desc_t *pd, zemm_engine_t engine, zemm_alg_kind_t alg_kind,
    const_zemm_memory_desc_t src_desc, const_zemm_memory_desc_t dst_desc, const_zemm_memory_desc_t scale_desc,
    const_zemm_memory_desc_t zero_point_desc, const_zemm_memory_desc_t reductions_desc,
    const_zemm_primitive_attr_t attr);

/* Moves pd on to its next implementation. last_impl_reached: there is none, and pd is unchanged. */
zemm_status_t ZEMM_API zemm_primitive_desc_next_impl(zemm_primitive_desc_t pd);
/* A copy of the descriptor, at the same implementation. */
zemm_status_t ZEMM_API zemm_primitive_desc_clone(zemm_primitive_desc_t *pd,
                                                 const_zemm_primitive_desc_t existing);
/* The attributes of the descriptor. They live as long as the descriptor. */
zemm_status_t ZEMM_API zemm_primitive_desc_get_attr(const_zemm_primitive_desc_t pd,
                                                    const_zemm_primitive_attr_t *attr);
/* An extension of zemm: the text of a file that, named by the environment variable ZEMM_TUNING, makes
 * the library choose pd's implementation for its problem, as zemm-tune writes it. *size is the room
 * in tuning before the call and the characters of the text after it, without a 0 at the end; if
 * tuning is NULL, only *size is written.
 * unimplemented: pd is no matmul, or has runtime dimensions. */
zemm_status_t ZEMM_API zemm_primitive_desc_get_tuning(const_zemm_primitive_desc_t pd, size_t *size,
                                                      char *tuning);
/* Primitives that were made from the descriptor have what they need of it. */
zemm_status_t ZEMM_API zemm_primitive_desc_destroy(zemm_primitive_desc_t pd);
/* Writes the answer to *result, whose type zemm_query_t names beside each query. index: which
 * one, where there are several. */
zemm_status_t ZEMM_API zemm_primitive_desc_query(const_zemm_primitive_desc_t pd, zemm_query_t what, int index,
                                                 void *result);
/* Returns a descriptor that pd owns: a zero descriptor where the query does not apply, NULL on
 * error. zemm_query_exec_arg_md also gives one for a scale or zero point that is common to its whole
 * tensor (mask 0). */
const_zemm_memory_desc_t ZEMM_API zemm_primitive_desc_query_md(const_zemm_primitive_desc_t pd,
                                                               zemm_query_t what, int index);
/* The answer to a query for an int, 0 on error. */
int ZEMM_API zemm_primitive_desc_query_s32(const_zemm_primitive_desc_t pd, zemm_query_t what, int index);

/* Builds the kernels, or finds them in a cache (a primitive with runtime dimensions builds them
 * at execution). */
zemm_status_t ZEMM_API zemm_primitive_create(zemm_primitive_t *primitive, const_zemm_primitive_desc_t pd);
/* Creates the primitive with the kernels of a cache blob, so that nothing is built. A blob has machine
 * code: pass only blobs that come from where nobody else can write. invalid_arguments: the blob is
 * empty or damaged, or it was made for another problem, device, driver or version of the library. */
zemm_status_t ZEMM_API zemm_primitive_create_from_cache_blob(zemm_primitive_t *primitive,
                                                             const_zemm_primitive_desc_t pd, size_t size,
                                                             const uint8_t *cache_blob);
/* The device's native binaries of the primitive's kernels. (The library also keeps these on disk
 * itself.) *size is the room in the buffer before the call and the bytes of the blob after it; if
 * cache_blob is NULL, only *size is written. The blob is empty if there is nothing to compute. A
 * primitive with runtime dimensions gives the kernels for likely shapes. The query cache_blob_id of
 * the descriptor is a key for a store of blobs. */
zemm_status_t ZEMM_API zemm_primitive_get_cache_blob(const_zemm_primitive_t primitive, size_t *size,
                                                     uint8_t *cache_blob);
/* The descriptor of what runs. It lives as long as the primitive. */
zemm_status_t ZEMM_API zemm_primitive_get_primitive_desc(const_zemm_primitive_t primitive,
                                                         const_zemm_primitive_desc_t *pd);
/* Submits the work to the stream; zemm_stream_wait() returns when it is done. The arguments are
 * checked before anything is submitted, so that invalid ones leave dst untouched.
 *
 * A memory is read or written as the primitive's descriptor says, from the start of its buffer on.
 * Its own descriptor is the same, apart from runtime values; or that of the parent where the
 * primitive has a submemory; or one with another data type of the same size, as when a sum post-op
 * reads dst as another type. Runtime values are those of the memories, and fit one another. Scales,
 * zero points and reductions may have any strides if their memory has the dimensions of
 * zemm_query_exec_arg_md. Memories of other dimensions are read as dense, and only the size of the
 * buffer is checked. For a value on the host a CPU engine also takes a memory of one element, and
 * the call reads it. invalid_arguments: anything else, or a buffer that is too small. */
zemm_status_t ZEMM_API zemm_primitive_execute(const_zemm_primitive_t primitive, zemm_stream_t stream,
                                              int nargs, const zemm_exec_arg_t *args);
/* Work that was submitted before still runs to its end. */
zemm_status_t ZEMM_API zemm_primitive_destroy(zemm_primitive_t primitive);

#ifdef __cplusplus
}
#endif

#endif
