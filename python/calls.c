/* SPDX-License-Identifier: Apache-2.0 */
static zemm_status_t submit(const layer_call *call, zemm_stream_t stream, void *const *tensors) {
    zemm_status_t status = zemm_success;
    for (int i = 0; i < call->nplaces && status == zemm_success; ++i) {
        const layer_place *place = &call->places[i];
        status = zemm_memory_set_data_handle_v2(place->memory, (char *)tensors[place->tensor] + place->offset,
                                                place->index);
    }
    for (int i = 0; i < call->nexecutions && status == zemm_success; ++i)
        status = zemm_primitive_execute(call->executions[i].primitive, stream, call->executions[i].nargs,
                                        call->executions[i].args);
    return status;
}

static int layer_run(const layer_call *call, zemm_stream_t stream, void *src, void *dst, void *scratch,
                     const int64_t *sizes, int64_t rows, int wait) {
    int64_t end = 0;
    for (int i = 0; i < call->nexperts; ++i) {
        if (sizes[i] < 0 || sizes[i] > rows - end)
            return -1;
        call->ends[i] = (int32_t)(end += sizes[i]);
    }
    if (call->nexperts && (end != rows || rows > INT32_MAX))
        return -1;
    void *const tensors[] = {src, dst, scratch, call->ends};
    const zemm_status_t status = submit(call, stream, tensors);
    return wait && status == zemm_success ? zemm_stream_wait(stream) : status;
}

static int chain_run(int ncalls, const layer_call *const *calls, zemm_stream_t stream, void *const *tensors) {
    zemm_status_t status = zemm_success;
    for (int i = 0; i < ncalls && status == zemm_success; ++i)
        status = submit(calls[i], stream, tensors);
    return status == zemm_success ? zemm_stream_wait(stream) : status;
}
