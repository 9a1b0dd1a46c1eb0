// SPDX-License-Identifier: MIT
#pragma once
// TQ_API, TQ_CORE_API: functions whose bodies are in .ipp files.

#include <tq/config.hpp>

// A program that links the library of `tq_add_files` has their bodies there and includes
// declarations alone. Elsewhere the headers include the bodies, as inline functions. The tag keeps
// the two apart where a program has files of both sorts.
#ifdef TQ_FILE_LIBRARY
#define TQ_API [[gnu::abi_tag("tq_files")]]
#else
#define TQ_API inline
#endif

// The same for the library of `tq_add_kernels`.
#ifdef TQ_KERNEL_LIBRARY
#define TQ_CORE_API [[gnu::abi_tag("tq_kernels")]]
#else
#define TQ_CORE_API inline
#endif
