/** The record spaces of the wall. @param client the module of sluice-client */
export const spacesOf = ({ space, text, file }) => ({
  users: space('users', {
    name: text({ required: true, unique: true }),
    password: text({ required: true, hashed: true }),
  }),
  posts: space('posts', {
    owner: text(),
    author: text(),
    // an uploaded photo or video, which goes with its post
    file: file({ required: true }),
  }),
});
