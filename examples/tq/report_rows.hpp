// SPDX-License-Identifier: MIT
#pragma once
// The tensors of a report as data for the script of its page, which makes rows of them when they
// are looked at.

#include "report_page.hpp"

#include <string>

namespace tool {

// The layer that a tensor belongs to by its name: up to the first part that is a number
// ("model.layers.3"), or else without the last part ("lm_head").
[[nodiscard]] std::string layer_of(const std::string& name);
// The name that tensors of its kind share in all layers: digits become "N".
[[nodiscard]] std::string role_of(const std::string& name);

// JSON with every '<' escaped:
//   {"columns": of pictures,
//    "kinds": [[text, is quantized]],
//    "layouts": [[kind, text of dtype and shape, elements, bytes before, after, of codes, of
//    scales,
//                 of zero points, scales]],
//    "tensors": [[characters that the name shares with the one before, the others, layout,
//                 heights of the picture as letters from "A" on, least and greatest value,
//                 least and greatest number of the codes, those of the narrowest scale,
//                 SQNR, share of the error, max error]],
//    "layers", "roles": [[name, tensors, [kinds], elements, bytes before, after, of codes, of
//    scales,
//                         of zero points, SQNR, share of the error, max error]]}
// Tensors end where what they lack begins. SQNR that is no number is "inf", "-inf" or "nan".
[[nodiscard]] std::string report_data(const ReportPage& page);

}  // namespace tool
