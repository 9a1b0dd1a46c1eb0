// SPDX-License-Identifier: MIT
#pragma once
// TQ_TEST_ADDRESS_SANITIZER: 1 where it checks the program, and ends it in place of std::bad_alloc.

#if defined(__SANITIZE_ADDRESS__)
#define TQ_TEST_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TQ_TEST_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(TQ_TEST_ADDRESS_SANITIZER)
#define TQ_TEST_ADDRESS_SANITIZER 0
#endif
