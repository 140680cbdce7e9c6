/** The record spaces of the wall. @param client the module of sluice-client */
export const spacesOf = ({ space, text }) => ({
  users: space('users', {
    name: text({ required: true, unique: true }),
    password: text({ required: true, hashed: true }),
  }),
  posts: space('posts', {
    owner: text(),
    author: text(),
    // the name and the type of an uploaded file
    file: text({ required: true }),
    type: text({ required: true }),
  }),
});
