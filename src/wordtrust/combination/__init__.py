"""Several recognizers at once: choice by confidence, ROVER, and one joint network."""
