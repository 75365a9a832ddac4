// SPDX-License-Identifier: Apache-2.0
// The queries that primitive descriptors of every kind answer.
#include "primitive/primitive_desc.hpp"

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/cache_blob.hpp"

using namespace zemm;

const memory_desc &zemm_primitive_desc::query_md(zemm_query_t what, int index) const {
    static const memory_desc none;
    const auto argument = [&](int arg) -> const memory_desc & {
        const auto found = arguments.find(arg);
        return found == arguments.end() ? none : found->second.md;
    };
    switch (what) {
    case zemm_query_src_md:
        return index == 0 ? argument(ZEMM_ARG_SRC) : none;
    case zemm_query_weights_md:
        return index == 0 ? argument(ZEMM_ARG_WEIGHTS) : index == 1 ? argument(ZEMM_ARG_BIAS) : none;
    case zemm_query_dst_md:
        return index == 0 ? argument(ZEMM_ARG_DST) : none;
    case zemm_query_scratchpad_md:
        return index == 0 ? scratchpad : none;
    case zemm_query_exec_arg_md: {
        // oneDNN describes no scales and zero points. zemm describes those that are tensors.
        const auto found = arguments.find(index);
        return found != arguments.end() && found->second.is_common ? none : argument(index);
    }
    default:
        return none;
    }
}

std::string zemm_primitive_desc::tuning_text() const {
    fail(zemm_unimplemented, "a %s cannot be tuned%s", primitive_kind_name(kind()),
         kind() == zemm_matmul ? " before its dimensions are known" : "");
}

void zemm_primitive_desc::query(zemm_query_t what, int index, void *result) const {
    switch (what) {
    case zemm_query_engine:
    case zemm_query_scratchpad_engine:
        *static_cast<zemm_engine_t *>(result) = engine.get();
        return;
    case zemm_query_primitive_kind:
        *static_cast<zemm_primitive_kind_t *>(result) = kind();
        return;
    case zemm_query_num_of_inputs_s32:
        *static_cast<int *>(result) = num_of_inputs(arguments);
        return;
    case zemm_query_num_of_outputs_s32:
        *static_cast<int *>(result) = 1;
        return;
    case zemm_query_memory_consumption_s64:
        *static_cast<int64_t *>(result) = md_is_zero(scratchpad) ? int64_t(scratchpad_size) : 0;
        return;
    case zemm_query_impl_info_str:
        *static_cast<const char **>(result) = impl_name();
        return;
    case zemm_query_cache_blob_id_size_s64:
    case zemm_query_cache_blob_id: {
        std::string id = cache_blob_id(*this); // next_impl() changes it
        const std::lock_guard hold(blob_id_.lock);
        if (blob_id_.text != id)
            blob_id_.text = std::move(id);
        if (what == zemm_query_cache_blob_id_size_s64)
            *static_cast<int64_t *>(result) = int64_t(blob_id_.text.size());
        else
            *static_cast<const uint8_t **>(result) = reinterpret_cast<const uint8_t *>(blob_id_.text.data());
        return;
    }
    case zemm_query_some_md:
    case zemm_query_src_md:
    case zemm_query_diff_src_md:
    case zemm_query_weights_md:
    case zemm_query_diff_weights_md:
    case zemm_query_dst_md:
    case zemm_query_diff_dst_md:
    case zemm_query_workspace_md:
    case zemm_query_scratchpad_md:
    case zemm_query_exec_arg_md:
        *static_cast<const_zemm_memory_desc_t *>(result) = &query_md(what, index);
        return;
    default:
        fail(zemm_unimplemented, "a %s primitive descriptor does not answer query %d",
             primitive_kind_name(kind()), int(what));
    }
}
