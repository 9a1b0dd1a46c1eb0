#include <tq/config.hpp>
