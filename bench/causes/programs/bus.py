"""D-Bus: a client asks a service, which asks another one; stalled: that one sleeps once. Meanwhile others talk too.

bus.py normal|stalled
"""

import os
import subprocess
import sys
import time

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

STALLED = sys.argv[1] == "stalled"
NAME = "org.whyperf."


class Store(dbus.service.Object):  # type: ignore[misc]
    @dbus.service.method(NAME + "Store", in_signature="i", out_signature="s")
    def get(self, number: int) -> str:
        if STALLED and number == 25:
            time.sleep(1.5)
        return f"entry {number}"


class Clock(dbus.service.Object):  # type: ignore[misc]
    @dbus.service.method(NAME + "Clock", in_signature="i", out_signature="s")
    def tell(self, number: int) -> str:
        return f"{time.time()} {number}"


class Directory(dbus.service.Object):  # type: ignore[misc]
    @dbus.service.method(NAME + "Directory", in_signature="i", out_signature="s")
    def find(self, number: int) -> str:
        store = self.connection.get_object(NAME + "Store", "/", introspect=False)
        return "found " + store.get(number, dbus_interface=NAME + "Store")


def serve(name: str) -> None:
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    owned = dbus.service.BusName(NAME + name, bus)
    served = {"Store": Store, "Directory": Directory, "Clock": Clock}[name](owned, "/")
    GLib.MainLoop().run()
    served.remove_from_connection()


def met(name: str) -> dbus.proxies.ProxyObject:
    bus = dbus.SessionBus()
    while not bus.name_has_owner(NAME + name):
        time.sleep(0.05)
    return bus.get_object(NAME + name, "/", introspect=False)


def ask() -> None:
    met("Store")
    directory = met("Directory")
    for number in range(40):
        directory.find(number, dbus_interface=NAME + "Directory")
        time.sleep(0.005)


def chat() -> None:
    clock = met("Clock")
    for number in range(10_000):
        clock.tell(number, dbus_interface=NAME + "Clock")
        time.sleep(0.02)


def again(word: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, __file__, sys.argv[1], word])


def main() -> None:
    bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE)
    assert bus.stdout is not None
    os.environ["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()
    others = [again("Store"), again("Directory"), again("Clock"), again("chat"), again("chat")]
    again("ask").wait()
    for one in [*others, bus]:
        one.kill()
        one.wait()


if len(sys.argv) < 3:
    main()
elif sys.argv[2] in ("ask", "chat"):
    {"ask": ask, "chat": chat}[sys.argv[2]]()
else:
    serve(sys.argv[2])
