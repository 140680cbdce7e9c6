/** The refusal of an operator's command; its message is for the operator. */
export class CommandError extends Error {}
