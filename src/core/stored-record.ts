/** How often a conditional write is tried again before the server says it is too busy with that record. */
export const writeAttempts = 16
