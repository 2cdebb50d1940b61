#!/bin/sh
# core
start() {
    logger starting
}

stop() {
    echo stopping
}

status() {
    echo unknown
}
