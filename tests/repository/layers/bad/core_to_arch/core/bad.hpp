#include <tq/arch/batch.hpp>
