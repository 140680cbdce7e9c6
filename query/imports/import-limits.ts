/** Problems of one import that are kept; all are counted. */
export const mostProblems = 1000;
