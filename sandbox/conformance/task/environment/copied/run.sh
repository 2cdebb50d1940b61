#!/bin/bash
echo "run bit kept"
