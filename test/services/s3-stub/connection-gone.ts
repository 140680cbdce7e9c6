/** Nobody is left to answer: the client went away, or a fault cut the connection. */
export class ConnectionGone extends Error {
  constructor() {
    super('the connection is gone');
    this.name = 'ConnectionGone';
  }
}
