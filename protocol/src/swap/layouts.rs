//! The layouts of the core protocol (protocol, appendix B), in the order of its opcodes.

/// Requests after their header, by major opcode.
pub(super) static REQUESTS: [&str; 128] = [
    "",
    "4422222244(4)", // 1 CreateWindow
    "44(4)",         // 2 ChangeWindowAttributes
    "4",             // 3 GetWindowAttributes
    "4",             // 4 DestroyWindow
    "4",             // 5 DestroySubwindows
    "4",             // 6 ChangeSaveSet
    "4422",          // 7 ReparentWindow
    "4",             // 8 MapWindow
    "4",             // 9 MapSubwindows
    "4",             // 10 UnmapWindow
    "4",             // 11 UnmapSubwindows
    "422(4)",        // 12 ConfigureWindow
    "4",             // 13 CirculateWindow
    "4",             // 14 GetGeometry
    "4",             // 15 QueryTree
    "22",            // 16 InternAtom
    "4",             // 17 GetAtomName
    "44411114",      // 18 ChangeProperty
    "44",            // 19 DeleteProperty
    "44444",         // 20 GetProperty
    "4",             // 21 ListProperties
    "444",           // 22 SetSelectionOwner
    "4",             // 23 GetSelectionOwner
    "44444",         // 24 ConvertSelection
    "44",            // 25 SendEvent
    "4211444",       // 26 GrabPointer
    "4",             // 27 UngrabPointer
    "421144112",     // 28 GrabButton
    "422",           // 29 UngrabButton
    "4422",          // 30 ChangeActivePointerGrab
    "4411",          // 31 GrabKeyboard
    "4",             // 32 UngrabKeyboard
    "421111",        // 33 GrabKey
    "422",           // 34 UngrabKey
    "4",             // 35 AllowEvents
    "",              // 36 GrabServer
    "",              // 37 UngrabServer
    "4",             // 38 QueryPointer
    "444",           // 39 GetMotionEvents
    "4422",          // 40 TranslateCoordinates
    "44222222",      // 41 WarpPointer
    "44",            // 42 SetInputFocus
    "",              // 43 GetInputFocus
    "",              // 44 QueryKeymap
    "42",            // 45 OpenFont
    "4",             // 46 CloseFont
    "4",             // 47 QueryFont
    "4",             // 48 QueryTextExtents
    "22",            // 49 ListFonts
    "22",            // 50 ListFontsWithInfo
    "2",             // 51 SetFontPath
    "",              // 52 GetFontPath
    "4422",          // 53 CreatePixmap
    "4",             // 54 FreePixmap
    "444(4)",        // 55 CreateGC
    "44(4)",         // 56 ChangeGC
    "444",           // 57 CopyGC
    "422",           // 58 SetDashes
    "422(2)",        // 59 SetClipRectangles
    "4",             // 60 FreeGC
    "42222",         // 61 ClearArea
    "444222222",     // 62 CopyArea
    "4442222224",    // 63 CopyPlane
    "44(2)",         // 64 PolyPoint
    "44(2)",         // 65 PolyLine
    "44(2)",         // 66 PolySegment
    "44(2)",         // 67 PolyRectangle
    "44(2)",         // 68 PolyArc
    "44112(2)",      // 69 FillPoly
    "44(2)",         // 70 PolyFillRectangle
    "44(2)",         // 71 PolyFillArc
    "442222",        // 72 PutImage
    "422224",        // 73 GetImage
    "4422",          // 74 PolyText8
    "4422",          // 75 PolyText16
    "4422",          // 76 ImageText8
    "4422",          // 77 ImageText16
    "444",           // 78 CreateColormap
    "4",             // 79 FreeColormap
    "44",            // 80 CopyColormapAndFree
    "4",             // 81 InstallColormap
    "4",             // 82 UninstallColormap
    "4",             // 83 ListInstalledColormaps
    "4222",          // 84 AllocColor
    "42",            // 85 AllocNamedColor
    "422",           // 86 AllocColorCells
    "42222",         // 87 AllocColorPlanes
    "44(4)",         // 88 FreeColors
    "4(422211)",     // 89 StoreColors
    "442",           // 90 StoreNamedColor
    "4(4)",          // 91 QueryColors
    "42",            // 92 LookupColor
    "44422222222",   // 93 CreateCursor
    "44422222222",   // 94 CreateGlyphCursor
    "4",             // 95 FreeCursor
    "4222222",       // 96 RecolorCursor
    "422",           // 97 QueryBestSize
    "2",             // 98 QueryExtension
    "",              // 99 ListExtensions
    "112(4)",        // 100 ChangeKeyboardMapping
    "",              // 101 GetKeyboardMapping
    "4(4)",          // 102 ChangeKeyboardControl
    "",              // 103 GetKeyboardControl
    "",              // 104 Bell
    "22211",         // 105 ChangePointerControl
    "",              // 106 GetPointerControl
    "2211",          // 107 SetScreenSaver
    "",              // 108 GetScreenSaver
    "112",           // 109 ChangeHosts
    "",              // 110 ListHosts
    "",              // 111 SetAccessControl
    "",              // 112 SetCloseDownMode
    "4",             // 113 KillClient
    "422(4)",        // 114 RotateProperties
    "",              // 115 ForceScreenSaver
    "",              // 116 SetPointerMapping
    "",              // 117 GetPointerMapping
    "",              // 118 SetModifierMapping
    "",              // 119 GetModifierMapping
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "", // 127 NoOperation
];

/// Replies after the length, by the major opcode of their request.
pub(super) static REPLIES: [(u8, &str); 31] = [
    (3, "42114411114442"),             // GetWindowAttributes
    (14, "422222"),                    // GetGeometry
    (15, "442|(4)"),                   // QueryTree
    (16, "4"),                         // InternAtom
    (17, "2"),                         // GetAtomName
    (20, "444"),                       // GetProperty
    (21, "2|(4)"),                     // ListProperties
    (23, "4"),                         // GetSelectionOwner
    (38, "4422222"),                   // QueryPointer
    (39, "4|(422)"),                   // GetMotionEvents
    (40, "422"),                       // TranslateCoordinates
    (43, "4"),                         // GetInputFocus
    (47, "2222224222222422221111224"), // QueryFont
    (48, "2222444"),                   // QueryTextExtents
    (49, "2"),                         // ListFonts
    (50, "2222224222222422221111224"), // ListFontsWithInfo
    (52, "2"),                         // GetFontPath
    (73, "4"),                         // GetImage
    (83, "2|(4)"),                     // ListInstalledColormaps
    (84, "22224"),                     // AllocColor
    (85, "4222222"),                   // AllocNamedColor
    (86, "22|(4)"),                    // AllocColorCells
    (87, "22444|(4)"),                 // AllocColorPlanes
    (91, "2|(2)"),                     // QueryColors
    (92, "222222"),                    // LookupColor
    (97, "22"),                        // QueryBestSize
    (101, "|(4)"),                     // GetKeyboardMapping
    (103, "41122"),                    // GetKeyboardControl
    (106, "222"),                      // GetPointerControl
    (108, "2211"),                     // GetScreenSaver
    (110, "2"),                        // ListHosts
];

/// Events after the sequence number, by code.
pub(super) static EVENTS: [&str; 35] = [
    "",
    "",
    "44442222211", // 2 KeyPress
    "44442222211", // 3 KeyRelease
    "44442222211", // 4 ButtonPress
    "44442222211", // 5 ButtonRelease
    "44442222211", // 6 MotionNotify
    "44442222211", // 7 EnterNotify
    "44442222211", // 8 LeaveNotify
    "41",          // 9 FocusIn
    "41",          // 10 FocusOut
    "",            // 11 KeymapNotify
    "422222",      // 12 Expose
    "42222221",    // 13 GraphicsExposure
    "421",         // 14 NoExposure
    "41",          // 15 VisibilityNotify
    "44222221",    // 16 CreateNotify
    "44",          // 17 DestroyNotify
    "441",         // 18 UnmapNotify
    "441",         // 19 MapNotify
    "44",          // 20 MapRequest
    "444221",      // 21 ReparentNotify
    "444222221",   // 22 ConfigureNotify
    "444222222",   // 23 ConfigureRequest
    "4422",        // 24 GravityNotify
    "422",         // 25 ResizeRequest
    "4441",        // 26 CirculateNotify
    "4441",        // 27 CirculateRequest
    "4441",        // 28 PropertyNotify
    "444",         // 29 SelectionClear
    "444444",      // 30 SelectionRequest
    "44444",       // 31 SelectionNotify
    "4411",        // 32 ColormapNotify
    "44",          // 33 ClientMessage
    "111",         // 34 MappingNotify
];

/// The setup's fixed part (protocol, section "Connection Setup").
pub(super) static SETUP_FIXED: &str = "11222444422111111114";
/// A SCREEN's fixed part.
pub(super) static SETUP_SCREEN: &str = "4444422222241111";
/// The fixed part of each of its DEPTHs.
pub(super) static SETUP_DEPTH: &str = "1124";
/// Each VISUALTYPE of those.
pub(super) static SETUP_VISUAL: &str = "41124444";
