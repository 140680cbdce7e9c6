/** A command of the operator is refused; the message is for them to read. */
export class CommandError extends Error {}
