/* SPDX-License-Identifier: Apache-2.0 */
/* DESTROY(a, b, ...) ends two to eight objects of any types, in this order. */
#ifndef ZEMM_TESTS_DESTROY_H
#define ZEMM_TESTS_DESTROY_H

#include "refusals.h"

#ifdef __cplusplus
#include <utility>
#endif

#define EACH_TYPE(X)                                                                                         \
    X(engine) X(stream) X(memory_desc) X(memory) X(primitive_attr) X(post_ops) X(primitive_desc) X(primitive)
#ifdef __cplusplus
#define FUNCTION(name)                                                                                       \
    inline zemm_status_t destroy_any(zemm_##name##_t object) { return zemm_##name##_destroy(object); }
EACH_TYPE(FUNCTION)
#undef FUNCTION
/* Ends its object with the scope. */
template <typename T> struct own {
    T object = nullptr;
    explicit own(T from = nullptr) : object(from) {}
    own(own &&other) : object(other.object) { other.object = nullptr; }
    own &operator=(own &&other) {
        std::swap(object, other.object);
        return *this;
    }
    ~own() { end(); }
    void end() { OK(destroy_any(std::exchange(object, nullptr))); }
    operator T() const { return object; }
    T *operator&() { return &object; }
};
#else
#define CHOICE(name) , zemm_##name##_t : zemm_##name##_destroy
#define destroy_any(object) _Generic((object)EACH_TYPE(CHOICE))(object)
#endif

#define DESTROY_1(a) OK(destroy_any(a));
#define DESTROY_2(a, ...) DESTROY_1(a) DESTROY_1(__VA_ARGS__)
#define DESTROY_3(a, ...) DESTROY_1(a) DESTROY_2(__VA_ARGS__)
#define DESTROY_4(a, ...) DESTROY_1(a) DESTROY_3(__VA_ARGS__)
#define DESTROY_5(a, ...) DESTROY_1(a) DESTROY_4(__VA_ARGS__)
#define DESTROY_6(a, ...) DESTROY_1(a) DESTROY_5(__VA_ARGS__)
#define DESTROY_7(a, ...) DESTROY_1(a) DESTROY_6(__VA_ARGS__)
#define DESTROY_8(a, ...) DESTROY_1(a) DESTROY_7(__VA_ARGS__)
#define DESTROY_NAME(a, b, c, d, e, f, g, h, count, ...) DESTROY_##count
#define DESTROY(...)                                                                                         \
    do {                                                                                                     \
        DESTROY_NAME(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, )(__VA_ARGS__)                                     \
    } while (0)

#endif
