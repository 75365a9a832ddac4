// SPDX-License-Identifier: Apache-2.0
// The functions of torch's stable C interface that the operator calls, as this process has loaded them.
// zemm is built without torch, so they are declared here and looked up by name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zemm_torch {

using stable_t = uint64_t;                     // StableIValue: a value, or a handle that the receiver owns
using tensor_t = struct AtenTensorOpaque *;    // AtenTensorHandle
using list_t = struct StableListOpaque *;      // StableListHandle
using library_t = struct TorchLibraryOpaque *; // TorchLibraryHandle
using kernel_t = void(stable_t *stack, uint64_t num_inputs, uint64_t num_outputs);

// The oldest version whose kernels take lists of tensors.
constexpr uint64_t torch_2_10 = 2ULL << 56 | 10ULL << 48;

// Each function returns 0 on success, unless it is declared to return a value.
struct shim_t {
    int32_t (*aoti_torch_get_dtype)(tensor_t, int32_t *);
    int32_t (*aoti_torch_get_device_type)(tensor_t, int32_t *);
    int32_t (*aoti_torch_get_layout)(tensor_t, int32_t *);
    int32_t (*aoti_torch_get_dim)(tensor_t, int64_t *);
    int32_t (*aoti_torch_get_numel)(tensor_t, int64_t *);
    int32_t (*aoti_torch_get_sizes)(tensor_t, int64_t **);
    int32_t (*aoti_torch_get_strides)(tensor_t, int64_t **);
    int32_t (*aoti_torch_is_contiguous)(tensor_t, bool *);
    int32_t (*aoti_torch_get_data_ptr)(tensor_t, void **);
    int32_t (*aoti_torch_empty_strided)(int64_t ndim, const int64_t *sizes, const int64_t *strides,
                                        int32_t dtype, int32_t device_type, int32_t device_index, tensor_t *);
    int32_t (*aoti_torch_new_tensor_handle)(tensor_t, tensor_t *);
    int32_t (*aoti_torch_delete_tensor_object)(tensor_t);
    bool (*aoti_torch_grad_mode_is_enabled)();
    int32_t (*aoti_torch_device_type_cpu)();
    int32_t (*aoti_torch_layout_strided)();
    int32_t (*aoti_torch_dtype_uint8)();
    int32_t (*torch_list_size)(list_t, size_t *);
    int32_t (*torch_list_get_item)(list_t, size_t, stable_t *);
    int32_t (*torch_delete_list)(list_t);
    int32_t (*aoti_torch_library_init_impl)(const char *space, const char *key, const char *file,
                                            uint32_t line, library_t *);
    int32_t (*torch_library_impl)(library_t, const char *name, kernel_t *, uint64_t version);
    int32_t (*torch_delete_stable_ivalue)(stable_t *); // since 2.13; NULL: operator delete
};

extern shim_t shim;

// Fills shim. Returns the name of a function that the torch of this process lacks, or NULL.
const char *load_shim();

// The number of a type of torch, such as "float32"; -1: there is none.
int32_t dtype_number(const char *name);

} // namespace zemm_torch
