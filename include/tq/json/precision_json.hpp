// SPDX-License-Identifier: MIT
#pragma once
// A selection of schemes as a configuration, and profiles of times from JSON.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/select/precision_selector.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tq::io {

/// The schemes of a selection as a configuration that lists every tensor by its exact name, and the
/// tensors that it leaves out:
///
///     {"version": 1, "mode": "static", "default": "int8", "skip": [{"name": "layer.bias"}],
///      "nodes": [{"name": "layer.weight", "scheme": "int4_g32", "reason": "..."}]}
/// A scheme is "float", the name of a named scheme, or the object of `spec_to_json` that `specs`
/// has for other names. Throws: `errc::unknown_name` for a scheme that is none of these.
[[nodiscard]] TQ_API Json precision_to_json(const PrecisionSelection& selection,
                                            const std::vector<std::string>& skipped = {},
                                            const std::vector<NamedScheme>& specs = {});

/// How long tensors of some shapes take in some schemes, as somebody measured it.
struct TimeProfile {
  /// A shape and a scheme, and whether rows are looked up in the tensor, as in an embedding.
  struct Key {
    std::vector<std::size_t> shape;
    std::string scheme;
    bool is_lookup = false;

    friend bool operator==(const Key&, const Key&) = default;
    friend bool operator<(const Key& a, const Key& b) noexcept {
      return std::tie(a.shape, a.scheme, a.is_lookup) < std::tie(b.shape, b.scheme, b.is_lookup);
    }
  };
  /// Seconds of a product, and the kind of product.
  struct Time {
    double seconds = 0;
    TimedWork work = TimedWork::none;

    friend bool operator==(const Time&, const Time&) = default;
  };

  std::string machine;  ///< where it was measured; of another one times mean nothing
  std::size_t threads = 1;
  std::size_t rows = 1;  ///< of activations
  std::map<Key, Time> times;

  /// Null where there is none.
  [[nodiscard]] TQ_API const Time* find(const Key& key) const;
};

/// {"version": 2, "machine": "...", "threads": 1, "rows": 1,
///  "times": [{"shape": [64, 64], "scheme": "int8", "work": "int8_product", "seconds": 1.5e-6}]}
[[nodiscard]] TQ_API Json time_profile_to_json(const TimeProfile& profile);

/// The profile of such a document. `path` names it in messages. Throws: `errc::malformed` for
/// fields that are missing, unknown or of the wrong type, times that are not above 0, and a shape
/// that has a scheme twice; `errc::unsupported` for another version: times of version 1 were those
/// to decode, which do not compare with these.
[[nodiscard]] TQ_API TimeProfile time_profile_from_json(const Json& json,
                                                        std::string_view path = "profile");

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/precision_json.ipp>
#endif
