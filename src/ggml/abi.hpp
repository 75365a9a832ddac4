// SPDX-License-Identifier: Apache-2.0
// The binary interface between ggml and its backends: structures that both sides read, and tables of
// functions that a backend fills. The names are ggml's without the prefix. Interface 3 (ggml 0.26) has more
// functions in a type of buffers than interface 2 (ggml 0.10); zemm reads only the first, and makes no type.
// All else is alike. The test_ggml_abi program compares every offset with the headers of a ggml
// (docs/ggml.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggml {

struct backend;
struct buffer;
struct buffer_type;
struct cgraph; // only read through ggml's functions
struct context;
struct device;
struct event;
struct reg;
struct graph_optimize_params;

constexpr int first_minor = 10, last_minor = 27; // of the versions 0.x whose interfaces these are

constexpr int max_dims = 4;

enum status : int { status_failed = -1, status_success = 0 };
enum log_level : int { log_info = 2, log_warn = 3, log_error = 4 };
enum device_type : int { device_cpu = 0, device_accel = 3 };
enum op : int { op_none = 0 };
enum flag : int { flag_input = 1, flag_compute = 16 };
enum type : int { type_f32 = 0, type_i32 = 26 };

// ne: elements of each dimension, the first one is contiguous. nb: strides in bytes.
struct tensor {
    int type;
    ggml::buffer *buffer;
    int64_t ne[max_dims];
    size_t nb[max_dims];
    int op;
    int32_t op_params[16];
    int32_t flags;
    tensor *src[10];
    tensor *view_src;
    size_t view_offs;
    void *data;
    char name[64];
    void *extra;
    char padding[8];
};

struct buffer_type {
    const char *(*get_name)(buffer_type *);
    // what follows differs by interface
};

struct buffer_i {
    void (*free_buffer)(buffer *);
    void *(*get_base)(buffer *);
    int (*init_tensor)(buffer *, tensor *);
    void (*memset_tensor)(buffer *, tensor *, uint8_t value, size_t offset, size_t size);
    void (*set_tensor)(buffer *, tensor *, const void *data, size_t offset, size_t size);
    void (*get_tensor)(buffer *, const tensor *, void *data, size_t offset, size_t size);
    void (*set_tensor_2d)(buffer *, tensor *, const void *data, size_t offset, size_t size, size_t copies,
                          size_t stride_tensor, size_t stride_data);
    void (*get_tensor_2d)(buffer *, const tensor *, void *data, size_t offset, size_t size, size_t copies,
                          size_t stride_tensor, size_t stride_data);
    bool (*cpy_tensor)(buffer *, const tensor *src, tensor *dst);
    void (*clear)(buffer *, uint8_t value);
    void (*reset)(buffer *);
};

struct buffer {
    buffer_i iface;
    buffer_type *buft;
    void *context;
    size_t size;
    int usage;
};

struct init_params {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
};

struct backend_i {
    const char *(*get_name)(backend *);
    void (*free)(backend *);
    void (*set_tensor_async)(backend *, tensor *, const void *, size_t, size_t);
    void (*get_tensor_async)(backend *, const tensor *, void *, size_t, size_t);
    void (*set_tensor_2d_async)(backend *, tensor *, const void *, size_t, size_t, size_t, size_t, size_t);
    void (*get_tensor_2d_async)(backend *, const tensor *, void *, size_t, size_t, size_t, size_t, size_t);
    bool (*cpy_tensor_async)(backend *, backend *, const tensor *, tensor *);
    void (*synchronize)(backend *);
    void *(*graph_plan_create)(backend *, const cgraph *);
    void (*graph_plan_free)(backend *, void *);
    void (*graph_plan_update)(backend *, void *, const cgraph *);
    int (*graph_plan_compute)(backend *, void *);
    int (*graph_compute)(backend *, cgraph *);
    void (*event_record)(backend *, event *);
    void (*event_wait)(backend *, event *);
    void (*graph_optimize)(backend *, cgraph *, graph_optimize_params *);
};

struct backend {
    const uint8_t *guid; // 16 bytes
    backend_i iface;
    ggml::device *device;
    void *context;
};

struct device_caps {
    bool async, host_buffer, buffer_from_host_ptr, events, mmap_support;
};

struct device_props {
    const char *name, *description;
    size_t memory_free, memory_total;
    int type;
    const char *device_id;
    device_caps caps;
};

struct device_i {
    const char *(*get_name)(device *);
    const char *(*get_description)(device *);
    void (*get_memory)(device *, size_t *free, size_t *total);
    int (*get_type)(device *);
    void (*get_props)(device *, device_props *);
    backend *(*init_backend)(device *, const char *params);
    buffer_type *(*get_buffer_type)(device *);
    buffer_type *(*get_host_buffer_type)(device *);
    buffer *(*buffer_from_host_ptr)(device *, void *, size_t size, size_t max_tensor_size);
    bool (*supports_op)(device *, const tensor *op);
    bool (*supports_buft)(device *, buffer_type *);
    bool (*offload_op)(device *, const tensor *op);
    event *(*event_new)(device *);
    void (*event_free)(device *, event *);
    void (*event_synchronize)(device *, event *);
};

struct device {
    device_i iface;
    ggml::reg *reg;
    void *context;
};

struct reg_i {
    const char *(*get_name)(reg *);
    size_t (*get_device_count)(reg *);
    device *(*get_device)(reg *, size_t index);
    void *(*get_proc_address)(reg *, const char *name);
};

struct reg {
    int api_version;
    reg_i iface;
    void *context;
};

} // namespace ggml
