"""Cases: a suspected condition from the first sign to its closing. A sensor opens one; persons decide all the rest."""
