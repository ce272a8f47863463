"""Programs of Debian's source packages, as they are shipped or with the edit of a case: where a fix was taken back."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.cache import kept, run
from bench.registries import debian_source

USUAL = "-g -O2"
_JOBS = f"-j{os.cpu_count() or 1}"


@dataclass(frozen=True)
class Recipe:
    """Build steps in the source's folder; `{flags}`, `{compiler}` and `{jobs}` are filled in."""

    package: str
    steps: tuple[tuple[str, ...], ...]


_CONFIGURE = ("./configure", "-q", "CC={compiler}", "CFLAGS={flags}")
_MAKE = ("make", "-s", "{jobs}")
# Where times of files suggest to a makefile that its own sources had changed.
_NOT_CONFIGURED_AGAIN = ("ACLOCAL=true", "AUTOCONF=true", "AUTOHEADER=true", "AUTOMAKE=true")
_CMAKE = (
    "cmake",
    "-Bbuild",
    "-DCMAKE_BUILD_TYPE=None",
    "-DCMAKE_C_COMPILER={compiler}",
    "-DCMAKE_C_FLAGS={flags}",
    "-DBUILD_SHARED_LIBS=OFF",
)
_LEFT_OUT_OF_FILE = ("libseccomp", "zlib", "bzlib", "xzlib", "zstdlib", "lzlib")
_LEFT_OUT_OF_GIT = ("OPENSSL", "CURL", "EXPAT", "GETTEXT", "TCLTK", "PERL", "PYTHON")
_LEFT_OUT_OF_LIBARCHIVE = (
    "TEST", "TAR", "CAT", "OPENSSL", "NETTLE", "LIBB2", "LZ4", "LZO", "LZMA", "ZSTD", "ZLIB", "BZip2", "LIBXML2",
    "EXPAT", "ACL", "XATTR", "ICONV", "WERROR",
)  # fmt: skip
_LEFT_OUT_OF_MOSQUITTO = ("TLS", "CJSON", "DOCS")
_LEFT_OUT_OF_OPENJPEG = ("PNG", "TIFF", "LCMS", "LCMS2", "ZLIB")
_LEFT_OUT_OF_TIFF = ("zlib", "libdeflate", "jpeg", "jbig", "lerc", "lzma", "zstd", "webp", "cxx")
_PARTS_OF_POSTGRESQL = (
    "src/backend", "src/timezone", "src/interfaces/libpq", "src/backend/utils/mb/conversion_procs",
    "src/backend/snowball", "src/pl/plpgsql/src", "src/bin/initdb", "src/bin/pg_ctl", "src/bin/psql",
    "contrib/test_decoding",
)  # fmt: skip
_TO_INSTALLED = "DESTDIR=$(abs_top_builddir)/installed"
# What would need further libraries, and hand-written vector code, which has no variables.
_LEFT_OUT_OF_RSYNC = ("openssl", "xxhash", "zstd", "lz4", "md2man", "acl-support", "xattr-support", "roll-simd", "ipv6")

PACKAGES = {
    "bash": Recipe("bash", ((*_CONFIGURE, "--disable-nls", "--without-bash-malloc"), _MAKE)),
    # Its makefile makes the library of functions with the program itself.
    "bc": Recipe("bc", ((*_CONFIGURE, "--without-readline"), (*_MAKE, "-j1", *_NOT_CONFIGURED_AGAIN, "MAKEINFO=true"))),
    "bsdiff": Recipe("bsdiff", (("sh", "-c", "{compiler} {flags} -o bsdiff bsdiff.c -lbz2"),)),
    # Debian's makefile links the system's library, which has no debug information.
    "bzip2": Recipe(
        "bzip2",
        (
            (*_MAKE, "CC={compiler}", "CFLAGS={flags} -D_FILE_OFFSET_BITS=64", "libbz2.a", "bzip2.o"),
            ("sh", "-c", "{compiler} {flags} -o bzip2 bzip2.o libbz2.a"),
        ),
    ),
    # Its awk alone.
    "busybox": Recipe(
        "busybox",
        (
            ("make", "-s", "allnoconfig"),
            ("sed", "-i", "s/# CONFIG_AWK is not set/CONFIG_AWK=y/;s/# CONFIG_LFS is not set/CONFIG_LFS=y/", ".config"),
            ("sh", "-c", "yes '' | make -s oldconfig"),
            (*_MAKE, "CC={compiler}", "EXTRA_CFLAGS={flags}", "busybox_unstripped"),
        ),
    ),
    "byacc": Recipe("byacc", (_CONFIGURE, _MAKE)),
    "cmark": Recipe("cmark", ((*_CMAKE, "-DCMARK_TESTS=OFF", "-DCMARK_SHARED=OFF"), (*_MAKE, "-Cbuild", "cmark_exe"))),
    "coreutils": Recipe(
        "coreutils",
        (
            (*_CONFIGURE, "--disable-nls", "--without-selinux"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "SUBDIRS=."),
        ),
    ),
    "ctags": Recipe("exuberant-ctags", (("./configure", "-q", "CC={compiler}", "CFLAGS={flags}"), (*_MAKE, "ctags"))),
    # Debian's patches add a file to the build.
    "dash": Recipe("dash", (("autoreconf", "-i"), _CONFIGURE, _MAKE)),
    "dasm": Recipe("dasm", ((*_MAKE, "-Csrc", "CC={compiler}", "CFLAGS={flags}", "dasm"),)),
    "diffutils": Recipe(
        "diffutils",
        (
            (*_CONFIGURE, "--disable-nls"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Clib"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Csrc"),
        ),
    ),
    "dnsmasq": Recipe("dnsmasq", ((*_MAKE, "CC={compiler}", "CFLAGS={flags}"),)),
    "e2fsprogs": Recipe(
        "e2fsprogs",
        (
            (*_CONFIGURE, "--disable-nls", "--disable-fuse2fs", "--disable-uuidd", "--enable-libuuid",
             "--enable-libblkid"),
            (*_MAKE, "libs"),
            (*_MAKE, "-Cmisc", "mke2fs"),
        ),
    ),
    "expat": Recipe(
        "expat",
        (
            (*_CMAKE, "-Sexpat", "-DEXPAT_SHARED_LIBS=OFF", "-DEXPAT_BUILD_DOCS=OFF"),
            # Debian's patches of 2.5.0 ask for its value, which only the other build system gives to it.
            ("sed", "-i", "s/^#define XML_DTD$/#define XML_DTD 1/", "build/expat_config.h"),
            (*_MAKE, "-Cbuild", "xmlwf"),
        ),
    ),
    "file": Recipe(
        "file",
        (
            (*_CONFIGURE, "--disable-shared", *(f"--disable-{part}" for part in _LEFT_OUT_OF_FILE)),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN),
        ),
    ),
    "findutils": Recipe(
        "findutils",
        (
            (*_CONFIGURE, "--disable-nls", "--without-selinux"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Cgl"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Clib"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Cfind"),
        ),
    ),
    "gawk": Recipe(
        "gawk",
        (
            (*_CONFIGURE, "--disable-nls", "--disable-extensions", "--without-readline", "--without-mpfr"),
            (*_MAKE, "-Csupport"),
            (*_MAKE, "gawk"),
        ),
    ),
    "git": Recipe(
        "git",
        (
            (*_MAKE, "CC={compiler}", "CFLAGS={flags}", *(f"NO_{part}=1" for part in _LEFT_OUT_OF_GIT),
             "git", "git-upload-pack"),
        ),
    ),
    "grep": Recipe(
        "grep",
        (
            (*_CONFIGURE, "--disable-nls", "--disable-perl-regexp", "--with-included-regex"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Clib"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Csrc"),
        ),
    ),
    "haproxy": Recipe(
        "haproxy",
        (
            (*_MAKE, "TARGET=linux-glibc", "CC={compiler}", "CPU_CFLAGS={flags}", "DEBUG_CFLAGS=", "USE_CRYPT_H=",
             "USE_LIBCRYPT=", "haproxy"),
        ),
    ),
    "jimtcl": Recipe(
        "jimtcl",
        (("./configure", "--disable-docs", "CC={compiler}", "CFLAGS={flags}"), (*_MAKE, "jimsh")),
    ),
    # Its cpio alone.
    "libarchive": Recipe(
        "libarchive",
        (
            (*_CMAKE, *(f"-DENABLE_{part}=OFF" for part in _LEFT_OUT_OF_LIBARCHIVE), "-DENABLE_CPIO_SHARED=OFF",
             "-DCMAKE_BUILD_TYPE=Debug"),
            (*_MAKE, "-Cbuild", "bsdcpio"),
        ),
    ),
    "libjpeg": Recipe(
        "libjpeg-turbo",
        (
            (*_CMAKE, "-DENABLE_SHARED=OFF", "-DWITH_SIMD=OFF", "-DWITH_TURBOJPEG=OFF"),
            (*_MAKE, "-Cbuild", "cjpeg-static", "djpeg-static"),
        ),
    ),
    "libtasn1": Recipe(
        "libtasn1-6",
        (
            (*_CONFIGURE, "--disable-shared", "--disable-doc"),
            (*_MAKE, "-Clib"),
            (*_MAKE, "-Csrc"),
        ),
    ),
    "libxml2": Recipe(
        "libxml2",
        (
            (*_CMAKE, *(f"-DLIBXML2_WITH_{part}=OFF" for part in ("PYTHON", "LZMA", "ZLIB", "ICU", "TESTS"))),
            (*_MAKE, "-Cbuild", "xmllint"),
        ),
    ),
    "libxslt": Recipe(
        "libxslt",
        (
            (*_CONFIGURE, "--disable-shared", "--without-python", "--without-crypto", "--without-plugins"),
            (*_MAKE, *_NOT_CONFIGURED_AGAIN, "SUBDIRS=libxslt libexslt xsltproc"),
        ),
    ),
    # Debian's makefile wants libtool and a header that says where modules are.
    "lua": Recipe(
        "lua5.3",
        (
            ("rm", "src/luac.c"),
            ("touch", "src/lua5.3-deb-multiarch.h"),
            ("sh", "-c", "{compiler} {flags} -std=gnu99 -DLUA_COMPAT_5_2 -DLUA_USE_POSIX '-DDEB_HOST_MULTIARCH=\"\"' "
             "-o lua src/*.c -lm"),
        ),
    ),
    "luajit": Recipe("luajit", ((*_MAKE, "CC={compiler}", "CCDEBUG={flags}"),)),
    "m4": Recipe("m4", (_CONFIGURE, (*_MAKE, "-Clib"), (*_MAKE, "-Csrc"))),
    "make": Recipe(
        "make-dfsg",
        (
            ("autoreconf", "-fi"),
            (*_CONFIGURE, "--disable-nls", "--without-guile"),
            (*_MAKE, "-Clib"),
            (*_MAKE, "make"),
        ),
    ),
    "mawk": Recipe("mawk", (("./configure", "--quiet", "CC={compiler}", "CFLAGS={flags}"), (*_MAKE, "mawk"))),
    "mosquitto": Recipe(
        "mosquitto",
        (
            (*_MAKE, "-Csrc", "CC={compiler}", "CFLAGS={flags}",
             *(f"WITH_{part}=no" for part in _LEFT_OUT_OF_MOSQUITTO), "mosquitto"),
        ),
    ),
    "mujs": Recipe("mujs", (("sh", "-c", "{compiler} {flags} -o mujs main.c one.c -lm"),)),
    "nginx": Recipe(
        "nginx",
        (
            ("./configure", "--with-cc={compiler}", "--with-cc-opt={flags}", "--without-http_rewrite_module",
             "--without-http_gzip_module"),
            _MAKE,
        ),
    ),
    "ninja": Recipe(
        "ninja-build",
        (
            ("cmake", "-Bbuild", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS={flags}", "-DBUILD_TESTING=OFF"),
            (*_MAKE, "-Cbuild", "ninja"),
        ),
    ),
    "openjpeg": Recipe(
        "openjpeg2",
        (
            (*_CMAKE, *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{part}=ON" for part in _LEFT_OUT_OF_OPENJPEG)),
            (*_MAKE, "-Cbuild", "opj_compress"),
        ),
    ),
    "original-awk": Recipe(
        "original-awk", ((*_MAKE[:2], "CC={compiler}", "HOSTCC={compiler}", "CFLAGS={flags}", "a.out"),)
    ),
    "patch": Recipe("patch", (_CONFIGURE, (*_MAKE, *_NOT_CONFIGURED_AGAIN, "-Clib"), (*_MAKE, "-Csrc", "patch"))),
    "pkgconf": Recipe("pkgconf", ((*_CONFIGURE, "--disable-shared"), (*_MAKE, *_NOT_CONFIGURED_AGAIN, "pkgconf"))),
    # Its programs find their files from where they are.
    "postgresql": Recipe(
        "postgresql-15",
        (
            (*_CONFIGURE, "--without-readline", "--without-zlib"),
            (*_MAKE, "-Csrc/backend", "generated-headers"),
            *((*_MAKE, f"-C{part}", "install", _TO_INSTALLED) for part in _PARTS_OF_POSTGRESQL),
        ),
    ),
    # With Debian's jemalloc, as Debian ships it.
    "redis-7.0": Recipe(
        "redis",
        (
            (*_MAKE, "-Csrc", "MALLOC=jemalloc", "USE_SYSTEM_JEMALLOC=yes", "OPTIMIZATION=-O2", "CC={compiler}",
             "REDIS_CFLAGS={flags}", "redis-server"),
        ),
    ),
    "rsync": Recipe(
        "rsync",
        (
            (*_CONFIGURE, *(f"--disable-{part}" for part in _LEFT_OUT_OF_RSYNC)),
            (*_MAKE, "rsync"),
        ),
    ),
    "sed": Recipe("sed", ((*_CONFIGURE, "--disable-nls"), (*_MAKE, *_NOT_CONFIGURED_AGAIN, "sed/sed"))),
    "sparse": Recipe("sparse", ((*_MAKE, "CC={compiler}", "CFLAGS={flags}", "sparse"),)),
    # The shell, from the amalgamation.
    "sqlite-3.40": Recipe(
        "sqlite3",
        (
            ("./configure", "-q"),
            ("make", "-s", "sqlite3.c", "shell.c"),
            ("sh", "-c", "{compiler} {flags} -DSQLITE_OMIT_LOAD_EXTENSION -o sqlite3 shell.c sqlite3.c -lpthread -lm"),
        ),
    ),
    "squashfs": Recipe(
        "squashfs-tools",
        ((*_MAKE, "-Csquashfs-tools", "CC={compiler}", "EXTRA_CFLAGS={flags}", "mksquashfs"),),
    ),
    "libtiff": Recipe(
        "tiff",
        (
            (*_CMAKE, *(f"-D{part}=OFF" for part in _LEFT_OUT_OF_TIFF)),
            (*_MAKE, "-Cbuild", "tiffcp"),
        ),
    ),
    "swig": Recipe(
        "swig",
        (
            (*_CONFIGURE, "CXXFLAGS={flags}", "--without-alllang", "--without-pcre", "--disable-ccache"),
            (*_MAKE, "-CSource"),
        ),
    ),
    # Its shell finds its library in the folder beside its own.
    "tcl": Recipe(
        "tcl8.6",
        (
            ("sh", "-c", "cd unix && ./configure -q --disable-shared CC={compiler} CFLAGS='{flags}'"),
            (*_MAKE, "-Cunix", "tclsh"),
        ),
    ),
    # Its configure script does not pass on what its makefile links with, which would strip it.
    "tcc": Recipe(
        "tcc",
        (
            ("./configure", "--cc={compiler}"),
            (*_MAKE, "CFLAGS={flags} -I.", "LDFLAGS=-g", "tcc"),
        ),
    ),
    "tcpdump": Recipe("tcpdump", ((*_CONFIGURE, "--without-crypto", "--disable-smb"), (*_MAKE, "tcpdump"))),
    "tidy": Recipe(
        "tidy-html5",
        ((*_CMAKE, "-DBUILD_SHARED_LIB=OFF"), (*_MAKE, "-Cbuild", "tidy")),
    ),
    "tinyscheme": Recipe(
        "tinyscheme",
        (("sh", "-c", "{compiler} {flags} -DUSE_DL=0 -DInitFile='\"/dev/null\"' -o scheme scheme.c -lm"),),
    ),
    "tar": Recipe("tar", ((*_CONFIGURE, "--disable-nls", "--without-posix-acls", "--without-selinux"), _MAKE)),
    "xa": Recipe("xa", ((*_MAKE, "CC={compiler}", "LD={compiler}", "CFLAGS={flags}", "xa"),)),
    "zopfli": Recipe("zopfli", (("sh", "-c", "{compiler} {flags} -o zopfli-gzip src/zopfli/*.c -lm"),)),
}  # fmt: skip


def package(name: str, patch: Path | None = None, flags: str = "", compiler: str = "gcc") -> Path:
    """The folder in which the package was built; `flags` beyond those of all builds."""
    recipe = PACKAGES[name]
    filled = {"flags": f"{USUAL} {flags}".strip(), "compiler": compiler, "jobs": _JOBS}
    steps = [[word.format_map(filled) for word in step] for step in recipe.steps]

    def make(folder: Path) -> None:
        shutil.copytree(debian_source(recipe.package), folder, dirs_exist_ok=True, symlinks=True)
        if patch:
            run(["patch", "--strip=1", f"--input={patch}"], folder)
        for step in steps:
            # As root, tar's and others' configure scripts refuse to work unless told that this is meant.
            run(step, folder, {"FORCE_UNSAFE_CONFIGURE": "1"})

    edits = [patch] if patch else []
    # Jobs differ from machine to machine, what comes out does not.
    words = [word for step in steps for word in step if word != _JOBS]
    return kept(name, [recipe.package, *words, *edits], make)
