/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a call's status, and of the sentence that a refusal must have. */
#ifndef ZEMM_TESTS_REFUSALS_H
#define ZEMM_TESTS_REFUSALS_H

#include <string.h>

#include "check.h"

/* The call succeeds. */
#define OK(call) CHECK((call) == zemm_success)
/* Calls of the fixture, and the ends of its objects. They may fail in tests that define these. */
#ifndef MUST
#define MUST(call) OK(call)
#endif
#ifndef MUST_END
#define MUST_END(call) OK(call)
#endif
/* The call is refused with this status, and the sentence contains the word. */
#define REFUSED(status, word, call)                                                                          \
    do {                                                                                                     \
        CHECK((call) == (status));                                                                           \
        CHECK(strstr(zemm_last_error(), (word)));                                                            \
    } while (0)
#define INVALID(word, call) REFUSED(zemm_invalid_arguments, word, call)
#define UNIMPLEMENTED(word, call) REFUSED(zemm_unimplemented, word, call)

#endif
