// SPDX-License-Identifier: Apache-2.0
#include "shim.hpp"

#include <string>

#include <dlfcn.h>

namespace zemm_torch {

shim_t shim;

namespace {

// The library by its own name: wherever it lies, this process has loaded it.
void *symbol(const char *name) {
    static void *const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : nullptr;
}

} // namespace

const char *load_shim() {
#define LOAD(name) shim.name = reinterpret_cast<decltype(shim.name)>(symbol(#name))
#define REQUIRE(name)                                                                                        \
    if (!(LOAD(name)))                                                                                       \
    return #name
    REQUIRE(aoti_torch_get_dtype);
    REQUIRE(aoti_torch_get_device_type);
    REQUIRE(aoti_torch_get_layout);
    REQUIRE(aoti_torch_get_dim);
    REQUIRE(aoti_torch_get_numel);
    REQUIRE(aoti_torch_get_sizes);
    REQUIRE(aoti_torch_get_strides);
    REQUIRE(aoti_torch_is_contiguous);
    REQUIRE(aoti_torch_get_data_ptr);
    REQUIRE(aoti_torch_empty_strided);
    REQUIRE(aoti_torch_new_tensor_handle);
    REQUIRE(aoti_torch_delete_tensor_object);
    REQUIRE(aoti_torch_grad_mode_is_enabled);
    REQUIRE(aoti_torch_device_type_cpu);
    REQUIRE(aoti_torch_layout_strided);
    REQUIRE(aoti_torch_dtype_uint8);
    REQUIRE(torch_list_size);
    REQUIRE(torch_list_get_item);
    REQUIRE(torch_delete_list);
    REQUIRE(aoti_torch_library_init_impl);
    REQUIRE(torch_library_impl);
    LOAD(torch_delete_stable_ivalue);
    return nullptr;
}

int32_t dtype_number(const char *name) {
    for (const char *begin : {"aoti_torch_dtype_", "torch_dtype_"})
        if (void *const function = symbol((begin + std::string(name)).c_str()))
            return reinterpret_cast<int32_t (*)()>(function)();
    return -1;
}

} // namespace zemm_torch
