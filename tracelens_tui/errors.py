"""The one exception that a user may meet."""


class UserError(Exception):
    """A fault the user can mend, told in one sentence that names the file, the place and the mend.

    The command line prints it and exits with 2; the app shows it on an error screen.  Programmer errors are never
    turned into this.
    """
