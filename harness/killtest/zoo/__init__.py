"""The bug zoo: crawlers with one planted crash bug each and a sound twin, and whether killtest tells them apart."""
