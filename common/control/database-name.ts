/** The database that holds the control tables and the tables of the record spaces. */
export const database = 'sluice';
