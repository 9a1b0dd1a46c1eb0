// SPDX-License-Identifier: MIT
#pragma once
// From text to JSON values.

#include <tq/bodies.hpp>

#include <nlohmann/json.hpp>

#include <string_view>

namespace tq::io {

using Json = nlohmann::json;

/// Text to a JSON value; stricter than the parser alone: every key of an object comes once, values
/// nest at most 64 deep, and no byte is NUL, which the parser takes for the end. `name` stands for
/// the document in messages. Throws: `errc::malformed`, with line and column of an error of syntax.
[[nodiscard]] TQ_API Json parse_json(std::string_view text, std::string_view name = "JSON");

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/json_text.ipp>
#endif
