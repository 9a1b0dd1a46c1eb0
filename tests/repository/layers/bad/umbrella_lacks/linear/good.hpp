#pragma once
#include <tq/config.hpp>
