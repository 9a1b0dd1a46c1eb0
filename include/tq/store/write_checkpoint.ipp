// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/write_checkpoint.hpp.

#include <tq/store/detail/write_checkpoint.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/write_checkpoint.hpp>
#ifndef TQ_FILE_BODIES
#include <tq/store/detail/erased_format.ipp>
#endif

#ifdef TQ_FILE_BODIES
namespace tq::store::detail {

template CheckpointReport write_checkpoint<StoredModel>(const std::filesystem::path&,
                                                        const std::filesystem::path&,
                                                        const std::shared_ptr<const AnyFormat>&,
                                                        const CheckpointOptions&);

}  // namespace tq::store::detail
#endif
