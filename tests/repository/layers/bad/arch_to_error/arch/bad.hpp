#include <tq/error.hpp>
