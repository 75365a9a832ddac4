/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of layers as one call of the extension, which build_ffi.py makes of these files. */

typedef struct {
    zemm_primitive_t primitive;
    int nargs;
    const zemm_exec_arg_t *args;
} layer_execution;

/* A buffer of a memory, which gets the address of one of a call's tensors plus some bytes. */
typedef struct {
    zemm_memory_t memory;
    int index;
    int tensor;
    size_t offset;
} layer_place;

/* Gives memories their addresses and executes primitives in order.
 * ends: for the rows of each expert, the number of its rows and of those before. */
typedef struct {
    int nplaces;
    const layer_place *places;
    int nexecutions;
    const layer_execution *executions;
    int nexperts;
    int32_t *ends;
} layer_call;

/* Runs a call with the tensors src, dst, scratch and ends (0 to 3). Stops at the first function that fails,
 * and returns its status. Returns -1, and has done nothing, if the sizes are not those of `rows` rows. */
static int layer_run(const layer_call *call, zemm_stream_t stream, void *src, void *dst, void *scratch,
                     const int64_t *sizes, int64_t rows, int wait);

/* Runs calls without experts one after the other, with tensors that they share, and waits. Returns the status
 * of the first function that fails. */
static int chain_run(int ncalls, const layer_call *const *calls, zemm_stream_t stream, void *const *tensors);
