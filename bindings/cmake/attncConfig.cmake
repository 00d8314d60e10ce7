# attncConfig.cmake: find_package(attnc) gives the library as attnc::attnc, or
# for static linking as attnc::static, the command as ATTNC_COMMAND, and a
# function that compiles a model into a target:
#
#     attnc_add_model(TARGET SPEC [EMBED] [OPTIONS --march=x86-64-v3 ..])
#
# It adds SPEC's C file to TARGET and the folder of its header to the include
# path. EMBED: with the weights inside; else they are NAME.weights beside it.
# OPTIONS: more words of `attnc compile`. The file is made again when SPEC or a
# file beside it that it names has changed, such as its weights; if SPEC is a
# folder, when a file in it has changed.
get_filename_component(ATTNC_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(ATTNC_COMMAND "${ATTNC_PREFIX}/bin/attnc")

if(EXISTS "${ATTNC_PREFIX}/lib/libattnc.so" AND NOT TARGET attnc::attnc)
  add_library(attnc::attnc SHARED IMPORTED)
  set_target_properties(attnc::attnc PROPERTIES
    IMPORTED_LOCATION "${ATTNC_PREFIX}/lib/libattnc.so"
    IMPORTED_SONAME libattnc.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${ATTNC_PREFIX}/include")
endif()

if(EXISTS "${ATTNC_PREFIX}/lib/libattnc.a" AND NOT TARGET attnc::static)
  add_library(attnc::static STATIC IMPORTED)
  set_target_properties(attnc::static PROPERTIES
    IMPORTED_LOCATION "${ATTNC_PREFIX}/lib/libattnc.a"
    INTERFACE_INCLUDE_DIRECTORIES "${ATTNC_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "yaml;jansson;xxhash;utf8proc;m;dl;pthread")
endif()

# Sets `files` to those that a model is made of.
function(attnc_files files spec)
  if(IS_DIRECTORY "${spec}")
    file(GLOB found CONFIGURE_DEPENDS "${spec}/*")
  else()
    set(found "${spec}")
    get_filename_component(folder "${spec}" DIRECTORY)
    file(STRINGS "${spec}" lines REGEX "^[^#]*[.]")
    foreach(line IN LISTS lines)
      string(REGEX MATCHALL "[^][ {}:,\"']+" words "${line}")
      foreach(word IN LISTS words)
        get_filename_component(path "${word}" ABSOLUTE BASE_DIR "${folder}")
        if(EXISTS "${path}" AND NOT IS_DIRECTORY "${path}")
          list(APPEND found "${path}")
        endif()
      endforeach()
    endforeach()
  endif()
  set(${files} "${found}" PARENT_SCOPE)
endfunction()

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
  attnc_files(files "${spec}")
  add_custom_command(
    OUTPUT "${folder}/${name}.c" "${folder}/${name}.h"
    COMMAND "${ATTNC_COMMAND}" compile "${spec}" -o "${folder}/${name}.c"
            --quiet ${MODEL_OPTIONS}
    # attnc leaves a file alone if its text stays the same
    COMMAND "${CMAKE_COMMAND}" -E touch "${folder}/${name}.c" "${folder}/${name}.h"
    DEPENDS ${files} "${ATTNC_COMMAND}"
    VERBATIM)
  target_sources(${target} PRIVATE "${folder}/${name}.c" "${folder}/${name}.h")
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE m)
endfunction()
