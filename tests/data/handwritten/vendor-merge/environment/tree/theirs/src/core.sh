#!/bin/sh
# core, revised
start() {
    echo starting
}

stop() {
    echo stopping
}

status() {
    echo running; return 0
}
