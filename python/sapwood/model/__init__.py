"""Files, directories, trees and branches as Python objects."""
