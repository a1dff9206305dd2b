// For the program in node: emscripten's files are read and written at a position, which pipes do not have.
Module["preRun"] = () => {
    const open = FS.open;
    FS.open = (...args) => {
        const stream = open(...args);
        if (stream.nfd !== undefined) stream.seekable = require("fs").fstatSync(stream.nfd).isFile();
        return stream;
    };
};
