# attncConfig.cmake: find_package(attnc) gives the library as attnc::attnc, the
# command as ATTNC_COMMAND, and a function that compiles a model into a target:
#
#     attnc_add_model(TARGET SPEC [EMBED] [OPTIONS --march=x86-64-v3 ..])
#
# It adds SPEC's C file to TARGET and the folder of its header to the include
# path. EMBED: with the weights inside; else they are NAME.weights beside it.
# OPTIONS: more words of `attnc compile`. The file is made again when SPEC has
# changed.
get_filename_component(ATTNC_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(ATTNC_COMMAND "${ATTNC_PREFIX}/bin/attnc")

if(EXISTS "${ATTNC_PREFIX}/lib/libattnc.so" AND NOT TARGET attnc::attnc)
  add_library(attnc::attnc SHARED IMPORTED)
  set_target_properties(attnc::attnc PROPERTIES
    IMPORTED_LOCATION "${ATTNC_PREFIX}/lib/libattnc.so"
    IMPORTED_SONAME libattnc.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${ATTNC_PREFIX}/include")
endif()

function(attnc_add_model target spec)
  cmake_parse_arguments(MODEL "EMBED" "" "OPTIONS" ${ARGN})
  if(MODEL_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "attnc_add_model: unknown ${MODEL_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(spec "${spec}" ABSOLUTE)
  get_filename_component(name "${spec}" NAME_WLE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/attnc")
  file(MAKE_DIRECTORY "${folder}")
  if(MODEL_EMBED)
    list(APPEND MODEL_OPTIONS --embed)
  endif()
  add_custom_command(
    OUTPUT "${folder}/${name}.c" "${folder}/${name}.h"
    COMMAND "${ATTNC_COMMAND}" compile "${spec}" -o "${folder}/${name}.c"
            --quiet ${MODEL_OPTIONS}
    DEPENDS "${spec}" "${ATTNC_COMMAND}"
    VERBATIM)
  target_sources(${target} PRIVATE "${folder}/${name}.c" "${folder}/${name}.h")
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE m)
endfunction()
