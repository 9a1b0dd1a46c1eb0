// SPDX-License-Identifier: MIT
// Compiles where tq::eigen and tq::json link the targets of the parent project.
#if !defined(EIGEN_OF_THE_PARENT) || !defined(JSON_OF_THE_PARENT)
#error "expected the parent project's Eigen3::Eigen and nlohmann_json::nlohmann_json behind tq's"
#endif
