/* SPDX-License-Identifier: Apache-2.0 */
/* Level Zero interoperability: zemm objects from Level Zero handles and back.
 *
 * Same functions as oneDNN's dnnl_ze.h. The handles stay the caller's: destroying a zemm object destroys only
 * what the library created. A context may be destroyed when all that was made on its engine is. They must
 * come from the loader that the process uses (libze_loader.so.1) or from a zemm engine. */
#ifndef ZEMM_ZE_H
#define ZEMM_ZE_H

#include "zemm.h"

#include <level_zero/ze_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Any argument NULL: invalid_arguments. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_create(zemm_engine_t *engine, ze_driver_handle_t driver,
                                                     ze_device_handle_t device, ze_context_handle_t context);
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_context(zemm_engine_t engine, ze_context_handle_t *context);
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_device(zemm_engine_t engine, ze_device_handle_t *device);
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_driver(zemm_engine_t engine, ze_driver_handle_t *driver);

/* Identity of a device and its driver for an engine cache. cache_blob_id NULL: writes the size in bytes. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_cache_blob_id(ze_driver_handle_t driver,
                                                                ze_device_handle_t device, size_t *size,
                                                                uint8_t *cache_blob_id);
/* cache_blob NULL: writes the size in bytes. */
zemm_status_t ZEMM_API zemm_ze_interop_engine_get_cache_blob(zemm_engine_t engine, size_t *size,
                                                             uint8_t *cache_blob);
zemm_status_t ZEMM_API zemm_ze_interop_engine_create_from_cache_blob(zemm_engine_t *engine,
                                                                     ze_driver_handle_t driver,
                                                                     ze_device_handle_t device,
                                                                     ze_context_handle_t context, size_t size,
                                                                     const uint8_t *cache_blob);

/* list: an immediate command list, used as in order. profiling 1: events on it keep timestamps. */
zemm_status_t ZEMM_API zemm_ze_interop_stream_create(zemm_stream_t *stream, zemm_engine_t engine,
                                                     ze_command_list_handle_t list, int profiling);
zemm_status_t ZEMM_API zemm_ze_interop_stream_get_list(zemm_stream_t stream, ze_command_list_handle_t *list);

/* handles: USM pointers, ZEMM_MEMORY_NONE or ZEMM_MEMORY_ALLOCATE. invalid_arguments: a pointer that is not
 * USM on a device that cannot read ordinary host memory. */
zemm_status_t ZEMM_API zemm_ze_interop_memory_create(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                                     zemm_engine_t engine, int nhandles, void **handles);

/* As zemm_primitive_execute(), after ndeps events; return_event (may be NULL) receives NULL, as the stream is
 * in order. */
zemm_status_t ZEMM_API zemm_ze_interop_primitive_execute(const_zemm_primitive_t primitive,
                                                         zemm_stream_t stream, int nargs,
                                                         const zemm_exec_arg_t *args, int ndeps,
                                                         const ze_event_handle_t *deps,
                                                         ze_event_handle_t *return_event);

/* How the library builds one of its kernels: what zeModuleCreate() and zeKernelCreate() get. */
#define ZEMM_ZE_MAX_CONSTANTS 16
#define ZEMM_ZE_MAX_BUILD_FLAGS 128
typedef struct {
    const char *name;     /* of the SPIR-V, as in the log; lives as long as the library */
    const char *kernel;   /* the entry point */
    const uint8_t *spirv; /* lives as long as the library */
    size_t spirv_size;    /* bytes */
    uint32_t num_constants;
    uint32_t constant_ids[ZEMM_ZE_MAX_CONSTANTS]; /* specialization constants, 32 bits each */
    uint32_t constant_values[ZEMM_ZE_MAX_CONSTANTS];
    char build_flags[ZEMM_ZE_MAX_BUILD_FLAGS];
} zemm_ze_module_t;

/* The modules of a matmul's or a reorder's chosen implementation, first the one that does the work, then
 * those that run beside it; no module for an empty problem. Nothing is built. On any engine an implementation
 * for GPUs (ZEMM_KERNEL forces one) gets the build flags of a GPU. modules NULL: writes the number to *count.
 * Else *count is the room, and then the number. invalid_arguments: pd or count NULL, too little room. */
zemm_status_t ZEMM_API zemm_ze_interop_primitive_desc_get_modules(const_zemm_primitive_desc_t pd, int *count,
                                                                  zemm_ze_module_t *modules);

#ifdef __cplusplus
}
#endif

#endif
