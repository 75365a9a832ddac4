/* SPDX-License-Identifier: Apache-2.0 */
/* Level Zero interoperability: makes zemm objects from Level Zero handles, and gives the handles of
 * zemm objects. The functions are those of oneDNN's dnnl_ze.h, and the last one is an extension.
 *
 * A handle must come from the Level Zero loader of the process (libze_loader.so.1) or from a zemm
 * engine. The caller keeps the handles that it brings: destroying a zemm object destroys only what
 * the library created. Destroy a context only after its engine and all objects made on that. */
#ifndef ZEMM_ZE_H
#define ZEMM_ZE_H

#include "zemm.h"

#include <level_zero/ze_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* invalid_arguments: any argument is NULL. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_create(zemm_engine_t *engine, ze_driver_handle_t driver,
                                                     ze_device_handle_t device, ze_context_handle_t context);
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_context(zemm_engine_t engine, ze_context_handle_t *context);
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_device(zemm_engine_t engine, ze_device_handle_t *device);
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_driver(zemm_engine_t engine, ze_driver_handle_t *driver);

/* An engine cache blob names the device and driver that it was made for. It contains nothing else,
 * as an engine of zemm is created quickly.
 *
 * The id names the same device and driver, as the key of a cache of blobs. *size is the room in the
 * buffer before the call and the bytes of the id after it; if cache_blob_id is NULL, only *size is
 * written. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_cache_blob_id(ze_driver_handle_t driver,
                                                                ze_device_handle_t device, size_t *size,
                                                                uint8_t *cache_blob_id);
/* The blob of an engine; size and cache_blob as above. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_cache_blob(zemm_engine_t engine, size_t *size,
                                                             uint8_t *cache_blob);
/* invalid_arguments: the blob was made for another device or driver, or is no blob of zemm. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_create_from_cache_blob(zemm_engine_t *engine,
                                                                     ze_driver_handle_t driver,
                                                                     ze_device_handle_t device,
                                                                     ze_context_handle_t context, size_t size,
                                                                     const uint8_t *cache_blob);

/* list: an immediate command list. Work that zemm appends runs in the order of submission, after
 * what the caller appended before. profiling 1: the stream keeps the time of each execution. */
zemm_status_t ZEMM_API zemm_ze_interop_stream_create(zemm_stream_t *stream, zemm_engine_t engine,
                                                     ze_command_list_handle_t list, int profiling);
/* The list of a stream: the caller's, or that of the library. */
zemm_status_t ZEMM_API zemm_ze_interop_stream_get_list(zemm_stream_t stream, ze_command_list_handle_t *list);

/* handles: for each buffer of md a USM pointer, ZEMM_MEMORY_NONE or ZEMM_MEMORY_ALLOCATE.
 * invalid_arguments: a pointer is not USM, and the device cannot read ordinary host memory. */
zemm_status_t ZEMM_API zemm_ze_interop_memory_create(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                                     zemm_engine_t engine, int nhandles, void **handles);

/* zemm_primitive_execute(), but the work waits for the ndeps events in deps. *return_event becomes
 * NULL, as later work on the stream runs in order anyway; return_event may be NULL. */
zemm_status_t ZEMM_API zemm_ze_interop_primitive_execute(const_zemm_primitive_t primitive,
                                                         zemm_stream_t stream, int nargs,
                                                         const zemm_exec_arg_t *args, int ndeps,
                                                         const ze_event_handle_t *deps,
                                                         ze_event_handle_t *return_event);

/* The longest arrays of zemm_ze_module_t. */
#define ZEMM_ZE_MAX_CONSTANTS 16
#define ZEMM_ZE_MAX_BUILD_FLAGS 128
/* How the library builds one of its kernels: inputs of zeModuleCreate() and zeKernelCreate(). */
typedef struct {
    const char *name;       /* of the SPIR-V module, as in the log; lives as long as the library */
    const char *kernel;     /* the entry point in the module */
    const uint8_t *spirv;   /* the module, which lives as long as the library */
    size_t spirv_size;      /* bytes */
    uint32_t num_constants; /* how many of the next two arrays' entries are used */
    uint32_t constant_ids[ZEMM_ZE_MAX_CONSTANTS];    /* SpecIds of the specialization constants */
    uint32_t constant_values[ZEMM_ZE_MAX_CONSTANTS]; /* the value of each */
    char build_flags[ZEMM_ZE_MAX_BUILD_FLAGS];       /* "" if there are none */
} zemm_ze_module_t;

/* An extension of zemm: the modules that pd's implementation needs, without building them. The
 * module of the main kernel is first, then come the modules of its helpers. An empty problem has
 * none. *count is the room in modules before the call and the number of modules after it; if
 * modules is NULL, only the number is written. An implementation for GPUs has the build flags of a
 * GPU even if the engine is a CPU (the environment variable ZEMM_KERNEL can force one there).
 * invalid_arguments: pd or count is NULL, or the room is too small. */
zemm_status_t ZEMM_API zemm_ze_interop_primitive_desc_get_modules(const_zemm_primitive_desc_t pd, int *count,
                                                                  zemm_ze_module_t *modules);

#ifdef __cplusplus
}
#endif

#endif
