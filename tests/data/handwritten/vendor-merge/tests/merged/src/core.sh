#!/bin/sh
# core, revised
start() {
    logger starting
}

stop() {
    echo stopping
}

status() {
    echo running; return 0
}
