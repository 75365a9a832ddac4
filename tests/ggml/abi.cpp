// SPDX-License-Identifier: Apache-2.0
// Compares what src/ggml declares of ggml's interface with the headers of a ggml: sizes, offsets and
// constants, calls of functions, and the blocks of the formats. It compiles if the declarations are right,
// and then prints formats that differ. Compiled with src/ggml/formats.cpp by test_ggml_abi.py.
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml-impl.h"
#include "ggml.h"
#define GGML_COMMON_DECL_CPP
#include "ggml-common.h"

#include "ggml/abi.hpp"
#include "ggml/formats.hpp"

namespace {

// Integers and enums of one size are passed alike, and so are all pointers.
template <typename T, typename U>
constexpr bool passed_alike =
    std::is_same_v<T, U> || (std::is_pointer_v<T> && std::is_pointer_v<U>) ||
    (sizeof(T) == sizeof(U) &&
     (std::is_enum_v<T> || std::is_integral_v<T>)&&(std::is_enum_v<U> || std::is_integral_v<U>)) ||
    (sizeof(T) == sizeof(U) && std::is_class_v<T> && std::is_class_v<U>);
template <> constexpr bool passed_alike<void, void> = true;

template <typename F> struct call;
template <typename R, typename... A> struct call<R (*)(A...)> {
    using result = R;
    using arguments = std::tuple<A...>;
};
template <typename R, typename... A> struct call<R (*)(A..., ...)> : call<R (*)(A...)> {};

template <typename T, typename U, size_t... i> constexpr bool all_alike(std::index_sequence<i...>) {
    return (passed_alike<std::tuple_element_t<i, T>, std::tuple_element_t<i, U>> && ...);
}

template <typename F, typename G> constexpr bool called_alike() {
    using T = typename call<F>::arguments;
    using U = typename call<G>::arguments;
    if constexpr (std::tuple_size_v<T> != std::tuple_size_v<U>)
        return false;
    else
        return passed_alike<typename call<F>::result, typename call<G>::result> &&
               all_alike<T, U>(std::make_index_sequence<std::tuple_size_v<T>>());
}

template <typename T>
constexpr bool is_function = std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;

// Data of one size; functions that are called alike.
template <typename T, typename U> constexpr bool field_alike() {
    if constexpr (is_function<T>)
        return called_alike<T, U>();
    else
        return sizeof(T) == sizeof(U) && !is_function<U> && std::is_pointer_v<T> == std::is_pointer_v<U>;
}

#define FIELD(ours, theirs, field)                                                                           \
    static_assert(offsetof(ours, field) == offsetof(theirs, field), #theirs "::" #field " is elsewhere");    \
    static_assert(field_alike<decltype(ours::field), decltype(theirs::field)>(),                             \
                  #theirs "::" #field " has another type");
#define SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs " has another size");
#define CONSTANT(ours, theirs) static_assert(int(ours) == int(theirs), #theirs);

#define TENSOR(field) FIELD(ggml::tensor, ggml_tensor, field)
TENSOR(type)
TENSOR(buffer)
TENSOR(ne)
TENSOR(nb)
TENSOR(op)
TENSOR(op_params)
TENSOR(flags)
TENSOR(src)
TENSOR(view_src)
TENSOR(view_offs)
TENSOR(data)
TENSOR(name)
TENSOR(extra)
TENSOR(padding)
SIZE(ggml::tensor, ggml_tensor)
static_assert(offsetof(ggml_tensor, extra) == 320, "EXTRA_OF_TENSOR of support_ggml.py");

// Of a type of buffers only the first function is read: what follows differs by interface.
static_assert(offsetof(ggml_backend_buffer_type, iface.get_name) == 0 &&
              offsetof(ggml::buffer_type, get_name) == 0);
static_assert(
    field_alike<decltype(ggml::buffer_type::get_name), decltype(ggml_backend_buffer_type_i::get_name)>());

#define INIT_PARAMS(field) FIELD(ggml::init_params, ggml_init_params, field)
INIT_PARAMS(mem_size)
INIT_PARAMS(mem_buffer)
INIT_PARAMS(no_alloc)
SIZE(ggml::init_params, ggml_init_params)

#define BUFFER_I(field) FIELD(ggml::buffer_i, ggml_backend_buffer_i, field)
BUFFER_I(free_buffer)
BUFFER_I(get_base)
BUFFER_I(init_tensor)
BUFFER_I(memset_tensor)
BUFFER_I(set_tensor)
BUFFER_I(get_tensor)
BUFFER_I(set_tensor_2d)
BUFFER_I(get_tensor_2d)
BUFFER_I(cpy_tensor)
BUFFER_I(clear)
BUFFER_I(reset)
SIZE(ggml::buffer_i, ggml_backend_buffer_i)

#define BUFFER(field) FIELD(ggml::buffer, ggml_backend_buffer, field)
BUFFER(iface)
BUFFER(buft)
BUFFER(context)
BUFFER(size)
BUFFER(usage)
SIZE(ggml::buffer, ggml_backend_buffer)

#define BACKEND_I(field) FIELD(ggml::backend_i, ggml_backend_i, field)
BACKEND_I(get_name)
BACKEND_I(free)
BACKEND_I(set_tensor_async)
BACKEND_I(get_tensor_async)
BACKEND_I(set_tensor_2d_async)
BACKEND_I(get_tensor_2d_async)
BACKEND_I(cpy_tensor_async)
BACKEND_I(synchronize)
BACKEND_I(graph_plan_create)
BACKEND_I(graph_plan_free)
BACKEND_I(graph_plan_update)
BACKEND_I(graph_plan_compute)
BACKEND_I(graph_compute)
BACKEND_I(event_record)
BACKEND_I(event_wait)
BACKEND_I(graph_optimize)
SIZE(ggml::backend_i, ggml_backend_i)

#define BACKEND(field) FIELD(ggml::backend, ggml_backend, field)
BACKEND(guid)
BACKEND(iface)
BACKEND(device)
BACKEND(context)
SIZE(ggml::backend, ggml_backend)
static_assert(sizeof(std::remove_pointer_t<ggml_guid_t>) == 16);

#define CAPS(field) FIELD(ggml::device_caps, ggml_backend_dev_caps, field)
CAPS(async)
CAPS(host_buffer)
CAPS(buffer_from_host_ptr)
CAPS(events)
CAPS(mmap_support)
SIZE(ggml::device_caps, ggml_backend_dev_caps)

#define PROPS(field) FIELD(ggml::device_props, ggml_backend_dev_props, field)
PROPS(name)
PROPS(description)
PROPS(memory_free)
PROPS(memory_total)
PROPS(type)
PROPS(device_id)
PROPS(caps)
SIZE(ggml::device_props, ggml_backend_dev_props)

#define DEVICE_I(field) FIELD(ggml::device_i, ggml_backend_device_i, field)
DEVICE_I(get_name)
DEVICE_I(get_description)
DEVICE_I(get_memory)
DEVICE_I(get_type)
DEVICE_I(get_props)
DEVICE_I(init_backend)
DEVICE_I(get_buffer_type)
DEVICE_I(get_host_buffer_type)
DEVICE_I(buffer_from_host_ptr)
DEVICE_I(supports_op)
DEVICE_I(supports_buft)
DEVICE_I(offload_op)
DEVICE_I(event_new)
DEVICE_I(event_free)
DEVICE_I(event_synchronize)
SIZE(ggml::device_i, ggml_backend_device_i)

#define DEVICE(field) FIELD(ggml::device, ggml_backend_device, field)
DEVICE(iface)
DEVICE(reg)
DEVICE(context)
SIZE(ggml::device, ggml_backend_device)

#define REG_I(field) FIELD(ggml::reg_i, ggml_backend_reg_i, field)
REG_I(get_name)
REG_I(get_device_count)
REG_I(get_device)
REG_I(get_proc_address)
SIZE(ggml::reg_i, ggml_backend_reg_i)

#define REG(field) FIELD(ggml::reg, ggml_backend_reg, field)
REG(api_version)
REG(iface)
REG(context)
SIZE(ggml::reg, ggml_backend_reg)

static_assert(GGML_BACKEND_API_VERSION == 2 || GGML_BACKEND_API_VERSION == 3);
CONSTANT(ggml::max_dims, GGML_MAX_DIMS)
CONSTANT(ggml::status_failed, GGML_STATUS_FAILED)
CONSTANT(ggml::status_success, GGML_STATUS_SUCCESS)
CONSTANT(ggml::log_info, GGML_LOG_LEVEL_INFO)
CONSTANT(ggml::log_warn, GGML_LOG_LEVEL_WARN)
CONSTANT(ggml::log_error, GGML_LOG_LEVEL_ERROR)
CONSTANT(ggml::device_cpu, GGML_BACKEND_DEVICE_TYPE_CPU)
CONSTANT(ggml::device_accel, GGML_BACKEND_DEVICE_TYPE_ACCEL)
CONSTANT(ggml::op_none, GGML_OP_NONE)
CONSTANT(ggml::flag_input, GGML_TENSOR_FLAG_INPUT)
CONSTANT(ggml::flag_compute, GGML_TENSOR_FLAG_COMPUTE)
CONSTANT(ggml::type_f32, GGML_TYPE_F32)
CONSTANT(ggml::type_i32, GGML_TYPE_I32)

// The functions that the backend finds by name.
#define FUNCTION(name, result, arguments)                                                                    \
    static_assert(called_alike<result(*) arguments, decltype(&ggml_##name)>(), "ggml_" #name "()");
#include "ggml/functions.def"
#undef FUNCTION

struct block {
    ggml_type type;
    int elements;
    size_t bytes;
};

constexpr block blocks[] = {
    {GGML_TYPE_Q4_0, QK4_0, sizeof(block_q4_0)},      {GGML_TYPE_Q4_1, QK4_1, sizeof(block_q4_1)},
    {GGML_TYPE_Q5_0, QK5_0, sizeof(block_q5_0)},      {GGML_TYPE_Q5_1, QK5_1, sizeof(block_q5_1)},
    {GGML_TYPE_Q8_0, QK8_0, sizeof(block_q8_0)},      {GGML_TYPE_Q2_K, QK_K, sizeof(block_q2_K)},
    {GGML_TYPE_Q3_K, QK_K, sizeof(block_q3_K)},       {GGML_TYPE_Q4_K, QK_K, sizeof(block_q4_K)},
    {GGML_TYPE_Q5_K, QK_K, sizeof(block_q5_K)},       {GGML_TYPE_Q6_K, QK_K, sizeof(block_q6_K)},
    {GGML_TYPE_IQ4_NL, QK4_NL, sizeof(block_iq4_nl)}, {GGML_TYPE_IQ4_XS, QK_K, sizeof(block_iq4_xs)},
    {GGML_TYPE_TQ1_0, QK_K, sizeof(block_tq1_0)},     {GGML_TYPE_TQ2_0, QK_K, sizeof(block_tq2_0)},
    {GGML_TYPE_MXFP4, QK_MXFP4, sizeof(block_mxfp4)}, {GGML_TYPE_NVFP4, QK_NVFP4, sizeof(block_nvfp4)},
    {GGML_TYPE_Q2_0, QK2_0, sizeof(block_q2_0)},
};

const block *find_block(int type) {
    for (const block &b : blocks)
        if (b.type == type)
            return &b;
    return nullptr;
}

} // namespace

int main() {
    int differences = 0;
    for (int type = 0; type < 256; ++type) {
        const zemm_ggml::format *const ours = zemm_ggml::find_format(type);
        const block *const theirs = find_block(type);
        const bool alike = ours && theirs
                               ? ours->bytes == int(theirs->bytes) && ours->elements == theirs->elements
                               : !ours && !theirs;
        if (!alike)
            std::printf("type %d differs\n", type);
        differences += !alike;
    }
    return differences;
}
